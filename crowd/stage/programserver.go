package stage

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/play"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/service"
)

// server answers for a service: the built-in one, or a program.
type server interface {
	// Set makes the server so.
	Set(service.State) error
	// Sweep resets the connections of those who are guests no more.
	Sweep()
	// Close ends the server.
	Close()
}

// programServer is a program that answers for a service.
type programServer struct {
	// round ends when the round is broken off: then nobody waits for a program that is being started again.
	round   context.Context
	program container.Program
	seat    play.Seat
	speaks  protocol.Protocol
	// ended is told how the program ended, if nobody has ended it.
	ended func(how string)

	mu     sync.Mutex
	now    *container.Container // nil while it is down
	state  service.State
	closed bool
}

// start starts the program, and waits until it answers.
func (p *programServer) start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := container.Start(p.seat.Namespace, p.program)
	if err != nil {
		return err
	}
	if err := answers(ctx, p.seat, p.speaks, c); err != nil {
		c.Close()
		return err
	}
	p.now = c
	go func() {
		how := c.How()
		p.mu.Lock()
		byItself := p.now == c
		p.mu.Unlock()
		if byItself {
			p.ended(how)
		}
	}()
	return nil
}

// stop ends the program, and waits until it has ended.
func (p *programServer) stop() {
	if c := p.now; c != nil {
		p.now = nil
		c.Close()
	}
}

// Set makes the server so: one that is down has no process, the processes of one that is silent are stopped. If the program
// cannot be started again, the server stays down, and the error has the program's words. One that ended by itself is
// started again only after it was down.
func (p *programServer) Set(to service.State) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.state == to {
		return nil
	}
	if p.state == service.Down {
		ctx, cancel := context.WithTimeout(p.round, startTime)
		defer cancel()
		if err := p.start(ctx); err != nil {
			return err
		}
		p.state = service.Sound
	}
	var err error
	switch {
	case to == service.Down:
		p.stop()
	case to == service.Silent:
		err = p.now.Pause()
	case p.state == service.Silent:
		err = p.now.Resume()
	}
	if errors.Is(err, unix.ESRCH) {
		err = nil
	}
	if err == nil {
		p.state = to
	}
	return err
}

// Sweep has nothing to do: a program loses its connections with those who had them.
func (p *programServer) Sweep() {}

// Close ends the program, and waits until it has ended.
func (p *programServer) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.stop()
}

// startTime is how long a program may take until it answers.
const startTime = 30 * time.Second

// answers waits until a program answers a request at all its addresses, by each protocol: one that is not ready may take connections.
func answers(ctx context.Context, at play.Seat, speaks protocol.Protocol, c *container.Container) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for _, one := range protocol.All(speaks) {
		for _, a := range at.Addrs {
			if err := answersAt(ctx, at, netip.AddrPortFrom(a, one.Port()), one, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func answersAt(ctx context.Context, from play.Seat, to netip.AddrPort, speaks protocol.Protocol, c *container.Container) error {
	for {
		err := probe(ctx, from, to, speaks)
		if err == nil {
			return nil
		}
		select {
		case <-c.Ended():
			return errors.New(c.How())
		case <-ctx.Done():
			return err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// probe makes a request of the least size.
func probe(ctx context.Context, from play.Seat, to netip.AddrPort, speaks protocol.Protocol) error {
	c, err := from.Namespace.Connect(ctx, speaks.Network(), to, func(netip.AddrPort) {})
	if err != nil {
		return err
	}
	ready, err := speaks.Begin(ctx, c)
	if err != nil {
		return err
	}
	defer ready.Close()
	defer context.AfterFunc(ctx, func() { ready.SetDeadline(time.Unix(1, 0)) })()
	return speaks.Ask(ready, protocol.Request{Site: 1})
}
