package play

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// exchange makes the requests of a step, over connections of its own or one that was kept. Connections share the
// requests: each makes the next one as soon as it has its answer.
func (s *session) exchange(ctx context.Context, step plan.Step) error {
	asks := step.Asks(s.number)
	if len(asks) == 0 { // the cache has all of it
		return nil
	}
	return s.withConnections(ctx, step, func(c net.Conn, next *atomic.Int64) error {
		for {
			i := next.Add(1) - 1
			if i >= int64(len(asks)) {
				return nil
			}
			if err := s.request(c, step, asks[i], step.Receives[i]); err != nil {
				return err
			}
		}
	})
}

// request makes one request of a step, over a connection to its service.
func (s *session) request(c net.Conn, step plan.Step, of plan.Asked, receives int64) error {
	has := protocol.None
	switch {
	case of.Unchanged:
		has = protocol.Current
	case of.Known:
		has = protocol.Old
	}
	return s.Services[step.Do.Service()].protocol(step.Do).Ask(c, protocol.Request{Site: step.To, Page: of.Page, Object: of.Object,
		Sends: step.Sends, Receives: receives, Refused: step.Mistake == scenario.MistakePassword, Has: has})
}

// withConnections runs a function for each connection of a step, all at once; they count requests together. The first
// error ends the others. A step that opens none uses the first one that was kept. A connection that carries streams is one, and the function is
// run on it as often as the step would open connections.
func (s *session) withConnections(ctx context.Context, step plan.Step, do func(net.Conn, *atomic.Int64) error) error {
	name := step.Do.Service()
	old := s.kept[name]
	var next atomic.Int64
	if len(old) > 0 && step.Connections == 0 {
		return over(ctx, old[0], func() error { return do(old[0], &next) })
	}
	waits, cancel := s.patient(ctx, s.planned) // for a connection, also where the step lasts longer
	defer cancel()
	at, err := s.find(waits, name)
	if err != nil {
		return err
	}
	speaks := s.Services[name].protocol(step.Do)
	to := netip.AddrPortFrom(at, speaks.Port())
	ctx, end := context.WithCancel(ctx)
	defer end()
	open, atOnce := max(1, step.Connections), 1
	if speaks.Streams() {
		open, atOnce = 1, open
	}
	opened := make([]net.Conn, open)
	errs := make([]error, len(opened))
	var running sync.WaitGroup
	for i := range opened {
		running.Go(func() {
			c, err := s.dial(waits, step, speaks.Network(), to)
			if err == nil {
				c, err = speaks.Begin(waits, c)
			}
			if err == nil {
				opened[i] = c
				err = over(ctx, c, func() error { return together(atOnce, end, func() error { return do(c, &next) }) })
			}
			if errs[i] = err; err != nil {
				cancel()
				end()
			}
		})
	}
	running.Wait()
	err = first(errs)
	for _, c := range opened {
		if c != nil && step.Keep && err == nil {
			s.kept[name] = append(s.kept[name], c)
		} else if c != nil && err == nil {
			c.Close()
		} else if c != nil {
			drop(c)
		}
	}
	return err
}

// together runs a function so many times at once. The first error ends the others.
func together(times int, end func(), do func() error) error {
	errs := make([]error, times)
	var running sync.WaitGroup
	for i := range errs {
		running.Go(func() {
			if errs[i] = do(); errs[i] != nil {
				end()
			}
		})
	}
	running.Wait()
	return first(errs)
}

// drop closes a connection of which nothing is to be sent any more. TLS would take its leave first, and wait until it can.
func drop(c net.Conn) {
	if secure, is := c.(interface{ NetConn() net.Conn }); is {
		secure.NetConn().Close()
	}
	c.Close()
}

// connection is one by TCP whose flow is recorded.
type connection struct {
	*net.TCPConn
	end func()
	of  *part
}

// Close closes the connection. That of a user who was taken away is reset: a connection whose last packets nobody answers
// would keep the namespace.
func (c connection) Close() error {
	c.end()
	if c.of.left.Load() {
		c.SetLinger(0)
	}
	return c.TCPConn.Close()
}

// datagrams is a UDP socket whose flow is recorded.
type datagrams struct {
	*net.UDPConn
	end func()
}

// Close closes the socket.
func (d datagrams) Close() error {
	d.end()
	return d.UDPConn.Close()
}

// dial connects the user to a service.
func (s *session) dial(ctx context.Context, step plan.Step, network string, to netip.AddrPort) (net.Conn, error) {
	end := func() {}
	c, err := s.seat.Namespace.Connect(ctx, network, to, func(from netip.AddrPort) { end = s.opened(string(step.Do), network, from, to) })
	if err != nil {
		end()
		return nil, err
	}
	if udp, is := c.(*net.UDPConn); is {
		return datagrams{udp, end}, nil
	}
	return connection{c.(*net.TCPConn), end, s.part}, nil
}

// over uses a connection as long as the context lasts. Nothing else sets deadlines.
func over(ctx context.Context, c net.Conn, do func() error) error {
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	err := do()
	if stop() {
		c.SetDeadline(time.Time{})
	}
	return err
}

// first returns the error that caused the others.
func first(errs []error) (one error) {
	for _, err := range errs {
		if err != nil && (one == nil || isEnd(one)) {
			one = err
		}
	}
	return one
}

// isEnd reports whether an error only says that something was ended.
func isEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, os.ErrDeadlineExceeded)
}
