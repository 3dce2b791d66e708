package program_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/test/namespace"
	"github.com/heddle-network/heddle/test/poll"
)

var (
	own      = netip.MustParseAddr("127.0.0.1")
	stranger = netip.MustParseAddr("127.0.0.2")
)

// running is a program of these tests.
type running struct {
	socket.Namespace
	*container.Container
	protocol.Protocol
}

// start starts nginx in a namespace of its own. It admits who comes from own.
func start(t *testing.T, a *program.Authority) running {
	return startWith(t, "nginx", program.Setting{Authority: a})
}

// startWith starts a program with more of a setting, and waits until it answers.
func startWith(t *testing.T, by string, set program.Setting) running {
	t.Helper()
	n := namespace.New(t)
	found, err := program.Find(by)
	if err != nil {
		t.Fatal(err)
	}
	set.Service, set.Host, set.Addrs, set.Admits = "web", "crowd-web", []netip.Addr{own}, []netip.Addr{own}
	set.Connections, set.Seed = 100, 7
	p, speaks, err := found.Prepare(set)
	if err != nil {
		t.Fatal(err)
	}
	c, err := container.Start(n, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	r := running{n, c, speaks}
	if _, err := poll.Until(time.Minute, 5*time.Millisecond, r.answers); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r running) dial() (net.Conn, error) {
	return r.Connect(context.Background(), r.Network(), netip.AddrPortFrom(own, r.Port()), func(netip.AddrPort) {})
}

// answers makes a whole request.
func (r running) answers() error {
	select {
	case <-r.Ended():
		return errors.New(r.How())
	default:
	}
	c, err := r.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	ready, err := r.Begin(context.Background(), c)
	if err == nil {
		err = r.Ask(ready, protocol.Request{Site: 1})
	}
	return err
}

// begin is a connection that is ready.
func (r running) begin(t *testing.T) *counter {
	t.Helper()
	c, err := r.dial()
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(time.Minute))
	ready, err := r.Begin(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ready.Close() })
	return &counter{Conn: ready}
}

// wire is a connection that is ready, and what counts below it.
func (r running) wire(t *testing.T) (net.Conn, *counter) {
	t.Helper()
	c, err := r.dial()
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(time.Minute))
	count := &counter{Conn: c}
	ready, err := r.Begin(context.Background(), count)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ready.Close() })
	return ready, count
}

// counter counts what passes a connection.
type counter struct {
	net.Conn
	sent, received int64
	heard          [32]byte // what is received first
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent += int64(n)
	return n, err
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	copy(c.heard[min(c.received, int64(len(c.heard))):], b[:n])
	c.received += int64(n)
	return n, err
}
