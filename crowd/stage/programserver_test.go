package stage

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/crowd/play"
	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/service"
	"github.com/heddle-network/heddle/test/namespace"
)

// TestProgramServer: a program refuses connections while it is down, and answers nothing while it is silent, also who has been
// connected before; it answers afterwards. It is told if it ends by itself, and not if it is ended.
func TestProgramServer(t *testing.T) {
	for _, by := range []string{"nginx", "openssh", "dovecot"} {
		t.Run(by, func(t *testing.T) { testProgramServer(t, by) })
	}
}

func testProgramServer(t *testing.T, by string) {
	n := namespace.New(t)
	found, err := program.Find(by)
	if err != nil {
		t.Fatal(err)
	}
	here := netip.MustParseAddr("127.0.0.1")
	runs, speaks, err := found.Prepare(program.Setting{Service: "web", Host: "crowd-web", Addrs: []netip.Addr{here}, Admits: []netip.Addr{here}, Connections: 10, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 10)
	round, breakOff := context.WithCancel(t.Context())
	p := &programServer{round: round, program: runs, seat: play.Seat{Namespace: n, Addrs: []netip.Addr{here}}, speaks: speaks, ended: func(how string) { ended <- how }}
	if err := p.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dial := func() (net.Conn, error) {
		c, err := n.Dial(t.Context(), netip.AddrPortFrom(here, speaks.Port()), func(netip.AddrPort) {}) // the kernel answers, or refuses
		if err != nil {
			return nil, err
		}
		return speaks.Begin(t.Context(), c)
	}
	askOn := func(c net.Conn, patience time.Duration) error {
		c.SetDeadline(time.Now().Add(patience))
		return speaks.Ask(c, protocol.Request{Site: 1, Sends: 200, Receives: 1000})
	}
	ask := func(patience time.Duration) error {
		c, err := dial()
		if err != nil {
			return err
		}
		defer c.Close()
		return askOn(c, patience)
	}
	set := func(to service.State) {
		t.Helper()
		if err := p.Set(to); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := ask(time.Minute); err != nil {
			t.Errorf("a sound one: %v", err)
		}
		before, err := dial()
		if err == nil {
			defer before.Close()
			err = askOn(before, time.Minute)
		}
		if err != nil {
			t.Fatal(err)
		}
		set(service.Silent)
		if err := askOn(before, 300*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a silent one, on a connection from before: %v", err)
		}
		if err := ask(300 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a silent one: %v", err)
		}
		set(service.Down)
		if err := ask(time.Minute); !errors.Is(err, unix.ECONNREFUSED) {
			t.Errorf("one that is down: %v", err)
		}
		set(service.Sound)
	}
	if len(ended) > 0 {
		t.Errorf("it was ended, and %q is told", <-ended)
	}
	set(service.Down)
	breakOff()
	if err := p.Set(service.Sound); !errors.Is(err, context.Canceled) || p.now != nil {
		t.Errorf("it is started again though the round is broken off: %v", err)
	}
	p.round = t.Context()
	set(service.Sound)
	p.now.Close()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("it ended by itself, and nobody is told")
	}
}
