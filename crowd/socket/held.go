package socket

import (
	"fmt"
	"os"
	"strconv"
)

// Hold holds a namespace that somebody else has made, such as that of a container. It lasts until it is dropped, even if
// whoever has made it ends before.
func (h *Holder) Hold(path string) (Namespace, error) {
	n := Namespace{h, strconv.FormatInt(h.made.Add(1), 10)}
	file, err := os.Open(path)
	if err != nil {
		return n, fmt.Errorf("open a network namespace: %w", err)
	}
	defer file.Close()
	return n, h.keep(n, file)
}

// keep has the thread mount an open namespace.
func (h *Holder) keep(n Namespace, file *os.File) error {
	done := make(chan error)
	select {
	case h.work <- func() { done <- hold(file, h.at+"/"+n.name) }:
		return <-done
	case <-h.ended:
		return fmt.Errorf("hold a network namespace: %w", os.ErrClosed)
	}
}
