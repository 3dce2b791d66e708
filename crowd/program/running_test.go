package program_test

import (
	"context"
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

// running is an nginx of these tests.
type running struct {
	socket.Namespace
	*container.Container
	protocol.Protocol
}

// start starts nginx in a namespace of its own. It admits who comes from own.
func start(t *testing.T, a *program.Authority) running {
	return startWith(t, program.Setting{Authority: a})
}

// startWith starts nginx with more of a setting.
func startWith(t *testing.T, set program.Setting) running {
	t.Helper()
	n := namespace.New(t)
	found, err := program.Find("nginx")
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
	poll.For(t, time.Minute, 5*time.Millisecond, "nginx listens", func() bool {
		probe, err := r.dial()
		if err == nil {
			probe.Close()
		}
		return err == nil
	})
	return r
}

func (r running) dial() (net.Conn, error) {
	return r.Dial(context.Background(), netip.AddrPortFrom(own, r.Port()), func(netip.AddrPort) {})
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

// counter counts what passes a connection.
type counter struct {
	net.Conn
	sent, received int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent += int64(n)
	return n, err
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received += int64(n)
	return n, err
}
