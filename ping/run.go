package ping

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// Conn sends and receives messages of ICMP. Its methods are called by one goroutine, but for Stop.
type Conn interface {
	// Send sends a message.
	Send(b []byte, to netip.Addr) error
	// Receive waits for a message until the deadline, or until Stop: then it is os.ErrDeadlineExceeded.
	Receive(b []byte, deadline time.Time) (n, ttl int, from netip.Addr, err error)
	// Stop ends Receive, now and from now on.
	Stop()
}

// Plan is what is sent.
type Plan struct {
	To             netip.Addr
	Count, Size    int
	Interval, Wait time.Duration
	// Alive is asked before each echo whether to go on: its error ends the ping.
	Alive func() error
}

// straysAtOnce is how many messages that do not answer are read before strayRest: who floods the socket takes no more of the agent's time. What
// finds no room in the socket meanwhile is dropped by the kernel.
const (
	straysAtOnce = 64
	strayRest    = 10 * time.Millisecond
)

// Run sends the echoes, one after the other, and tells what became of each. It ends early with the context's error, or that of tell or Alive.
func Run(ctx context.Context, c Conn, plan Plan, tell func(Echo) error) error {
	defer context.AfterFunc(ctx, c.Stop)()
	p := newProbe(plan.To, plan.Size)
	room := make([]byte, max(headerICMP+plan.Size, 2048))
	for seq := 1; seq <= plan.Count; seq++ {
		if err := plan.Alive(); err != nil {
			return err
		}
		sent := time.Now()
		e, err := p.once(ctx, c, uint16(seq), plan.Wait, room)
		if err != nil {
			return err
		}
		e.Seq = seq
		if err := tell(e); err != nil {
			return err
		}
		if seq < plan.Count && !pause(ctx, time.Until(sent.Add(plan.Interval))) {
			return ctx.Err()
		}
	}
	return nil
}

// once sends an echo, and waits for what comes back.
func (p probe) once(ctx context.Context, c Conn, seq uint16, wait time.Duration, room []byte) (e Echo, err error) {
	message, err := p.request(seq)
	if err != nil {
		return e, err
	}
	unanswered := Echo{Outcome: Unanswered, Bytes: len(message)}
	sent := time.Now()
	if err := c.Send(message, p.to); err != nil {
		if ctx.Err() != nil {
			return e, ctx.Err()
		}
		pause(ctx, min(wait, strayRest)) // as for an answer
		return Echo{Outcome: NotSent, Bytes: len(message), Detail: words(err)}, nil
	}
	deadline := sent.Add(wait)
	for strays := 1; ; strays++ {
		n, ttl, from, err := c.Receive(room, deadline)
		switch {
		case ctx.Err() != nil:
			return e, ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded):
			return unanswered, nil
		case err == nil:
			if e, ours := p.read(room[:n], from, seq); ours {
				if e.Outcome == Reply {
					e.TTL = ttl
				}
				e.RTTSeconds = time.Since(sent).Seconds()
				return e, nil
			}
		}
		// what does not answer, or an error of the socket about an earlier packet
		if strays%straysAtOnce == 0 && !pause(ctx, min(strayRest, time.Until(deadline))) || time.Now().After(deadline) {
			return unanswered, ctx.Err()
		}
	}
}

// words are the kernel's own for an error.
func words(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

// pause waits, and reports whether the context goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
