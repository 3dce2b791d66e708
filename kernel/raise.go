package kernel

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// bringUp brings an interface up.
func (a *attempt) bringUp(s *session, l heddle.Link) error {
	if l.Down || a.unset[s.side()+l.Name] {
		return nil
	}
	return a.step("raise", l.Key(), func() error {
		up, err := s.isUp(l.Name)
		if err != nil || up {
			return err
		}
		index, err := s.ifindex(l.Name)
		if err != nil {
			return err
		}
		back := func() error { return nil } // a new link is undone as a whole
		if !a.fresh[s.side()+l.Name] {
			if back, err = s.lower(index); err != nil {
				return err
			}
		}
		if err := s.raise(index); err != nil {
			return err
		}
		a.recordUndo(l.Key(), back)
		return nil
	})
}

// leaving is how long the kernel may take to remove the links of a namespace that nobody holds any
// more.
const leaving = 4 * time.Second

// raise brings an interface up. When a container restarts, the device in its old
// namespace may still have its MAC address on the macvlan parent: the kernel removes
// that device a moment after the namespace's last process has ended.
func (s *session) raise(index int) error {
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := s.rt.execute(raiseLink(index, true))
		if !errors.Is(err, unix.EADDRINUSE) || time.Since(begin) > leaving {
			return err
		}
	}
}

// lower returns how to take an interface down again. That also removes the addresses that the
// kernel added when the interface came up and leaves on it (127.0.0.1 of a loopback).
func (s *session) lower(index int) (func() error, error) {
	before, err := s.addresses(index)
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := s.rt.execute(raiseLink(index, false)); err != nil {
			return err
		}
		return s.dropAddresses(index, before)
	}, nil
}
