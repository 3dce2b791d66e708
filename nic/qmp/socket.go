package qmp

import (
	"context"
	"os"

	"github.com/heddle-network/heddle"
)

// Socket is the socket of a machine that may end and start again. Its methods connect to the machine if there is no
// connection; they may be called at the same time.
type Socket struct {
	path string

	// connecting is full while somebody connects, or looks whether that is needed.
	connecting chan struct{}
	machine    *Machine
}

// NewSocket returns the socket at that path. It does not connect yet.
func NewSocket(path string) *Socket { return &Socket{path: path, connecting: make(chan struct{}, 1)} }

// Close ends the connection, if there is one.
func (s *Socket) Close() error {
	s.connecting <- struct{}{}
	defer func() { <-s.connecting }()
	if s.machine == nil {
		return nil
	}
	return s.machine.Close()
}

// connected returns a connection that has not ended.
func (s *Socket) connected(ctx context.Context) (*Machine, error) {
	select {
	case s.connecting <- struct{}{}:
		defer func() { <-s.connecting }()
	case <-ctx.Done():
		return nil, heddle.Wrap(heddle.Waited, "connect to machine", s.path, context.Cause(ctx), "end the program that is connected to it, if there is one: QEMU talks to one at a time")
	}
	if s.machine != nil {
		select {
		case <-s.machine.Done():
		default:
			return s.machine, nil
		}
	}
	m, err := Dial(ctx, s.path)
	if err != nil {
		return nil, err
	}
	s.machine = m
	return m, nil
}

// Plug is Machine.Plug for a NIC of at most so many pairs of queues, and no more than Machine.Queues says. open opens the TAP for as many, or for one if
// that takes no more.
func (s *Socket) Plug(ctx context.Context, id string, mac heddle.MAC, mtu, queues int, _ bool, open func(queues int) ([]*os.File, error)) error {
	m, err := s.connected(ctx)
	if err != nil {
		return err
	}
	most, err := m.Queues(ctx)
	if err != nil {
		return err
	}
	taps, err := open(min(queues, most))
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range taps {
			f.Close()
		}
	}()
	return m.Plug(ctx, NIC{ID: id, MAC: mac, MTU: mtu, TAPs: taps})
}

// Queues is Machine.Queues.
func (s *Socket) Queues(ctx context.Context) (int, error) {
	m, err := s.connected(ctx)
	if err != nil {
		return 0, err
	}
	return m.Queues(ctx)
}

// Unplug is Machine.Unplug.
func (s *Socket) Unplug(ctx context.Context, id string) error {
	m, err := s.connected(ctx)
	if err != nil {
		return err
	}
	return m.Unplug(ctx, id)
}

// Plugged is Machine.Plugged.
func (s *Socket) Plugged(ctx context.Context) ([]string, error) {
	m, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	return m.Plugged(ctx)
}

// Slots is Machine.Slots.
func (s *Socket) Slots(ctx context.Context) (all, free int, err error) {
	m, err := s.connected(ctx)
	if err != nil {
		return 0, 0, err
	}
	return m.Slots(ctx)
}
