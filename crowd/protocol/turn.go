package protocol

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"sync"
)

// readers are shared by all connections: one that waits holds none.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}

// inTurn makes a request on a connection that carries one at a time, and reads what answers it. Nothing may be left to read.
func inTurn(from io.Reader, do func(in *bufio.Reader) error) error {
	in := readers.Get().(*bufio.Reader)
	in.Reset(from)
	defer func() {
		in.Reset(nil)
		readers.Put(in)
	}()
	if err := do(in); err != nil {
		return err
	}
	if in.Buffered() > 0 {
		return errors.New("read answer: more than was asked for")
	}
	return nil
}

// cut yields the sizes of equal pieces, but for a byte, of which none is larger than most. Together they are the size.
func cut(size, most int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for pieces := (size + most - 1) / most; pieces > 0; pieces-- {
			piece := size / pieces
			if size -= piece; !yield(piece) {
				return
			}
		}
	}
}
