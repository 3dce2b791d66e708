package socket

import (
	"cmp"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// New makes a namespace, in which loopback is down. After Close, the error is os.ErrClosed.
func (h *Holder) New() (Namespace, error) {
	n := Namespace{h, strconv.FormatInt(h.made.Add(1), 10)}
	var file *os.File
	err := apart(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: %w", err)
		}
		file, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	if err != nil {
		return n, err
	}
	defer file.Close()
	return n, h.keep(n, file)
}

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
	return h.does("hold", func() error { return hold(file, h.at+"/"+n.name) })
}

// does has the thread do something with network namespaces.
func (h *Holder) does(what string, do func() error) error {
	done := make(chan error)
	select {
	case h.work <- func() { done <- do() }:
		return <-done
	case <-h.ended:
		return fmt.Errorf("%s a network namespace: %w", what, os.ErrClosed)
	}
}

// hold mounts a namespace, of which the file is open. /proc/self/fd would not do: in another mount namespace, /proc may be that of
// other processes.
func hold(namespace *os.File, at string) error {
	f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL, 0)
	if err != nil {
		return err
	}
	f.Close()
	tree, err := unix.OpenTree(int(namespace.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err == nil {
		defer unix.Close(tree)
		err = unix.MoveMount(tree, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	if err != nil {
		return fmt.Errorf("hold a network namespace by a mount: %w", err)
	}
	return nil
}

// Drop lets go of namespaces. Each ends when nothing else uses it: sockets, for instance. It returns the first error, and goes
// on with the others.
func Drop(all ...Namespace) (first error) {
	of := map[*Holder][]Namespace{}
	for _, n := range all {
		of[n.holder] = append(of[n.holder], n)
	}
	for h, some := range of {
		first = cmp.Or(first, h.does("let go of", func() (first error) {
			for _, n := range some {
				first = cmp.Or(first, drop(h.at+"/"+n.name))
			}
			return first
		}))
	}
	return first
}

// drop takes a mount away. What has it open keeps the namespace, and not the mount.
func drop(at string) error {
	if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of a network namespace: %w", err)
	}
	return os.Remove(at)
}
