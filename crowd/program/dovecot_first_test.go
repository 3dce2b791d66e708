package program_test

import (
	"errors"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/test/namespace"
)

// TestMailFirst: many who log in at once, and are the first ones, all find the mailbox as it is.
func TestMailFirst(t *testing.T) {
	found, err := program.Find("dovecot")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		n := namespace.New(t)
		p, speaks, err := found.Prepare(program.Setting{Service: "mail", Host: "crowd-mail", Addrs: []netip.Addr{own}, Admits: []netip.Addr{own}, Connections: 100})
		if err != nil {
			t.Fatal(err)
		}
		c, err := container.Start(n, p)
		if err != nil {
			t.Fatal(err)
		}
		r := running{n, c, speaks}
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() {
				c, err := r.dial()
				for errors.Is(err, syscall.ECONNREFUSED) {
					time.Sleep(5 * time.Millisecond)
					c, err = r.dial()
				}
				if err == nil {
					defer c.Close()
					c, err = r.Begin(t.Context(), c)
				}
				if err == nil {
					err = r.Ask(c, protocol.Request{Site: 1, Sends: 64, Receives: 5000})
				}
				if err != nil {
					t.Errorf("%v; %s", err, r.Words())
				}
			})
		}
		all.Wait()
		r.Close()
	}
}
