package modes_test

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/world"
)

// TestPortless: what has no ports (ESP here) does not leave a network that is
// masqueraded, and is counted; from one that is not, it does.
func TestPortless(t *testing.T) {
	w := world.New(t)
	for _, mode := range []string{"bridge", "routed", "overlay"} {
		w.Network(t, mode+"-hidden", mode, world.With("masquerade=true"))
		w.Network(t, mode+"-shown", mode, world.With("masquerade=false"))
		hidden, shown := w.Pod(t, mode+"1", mode+"-hidden"), w.Pod(t, mode+"2", mode+"-shown")
		for _, to := range []netip.Addr{world.Outside4, world.Outside6} {
			ear := hearESP(t, w.Outside, to)
			const sent = 3
			before := w.Status().Drops["shadowing"]
			for range sent {
				sendESP(t, hidden.Netns, to, "hidden")
			}
			world.Soon(t, "the drops are counted", func() error {
				if got := w.Status().Drops["shadowing"] - before; got != sent {
					return fmt.Errorf("mode %s, to %s: %d of %d", mode, to, got, sent)
				}
				return nil
			})
			world.Soon(t, "ESP leaves with the container's own address", func() error {
				sendESP(t, shown.Netns, to, "shown")
				text := make([]byte, 64)
				ear.SetReadDeadline(time.Now().Add(world.Refusal))
				n, from, err := ear.ReadFrom(text)
				if err == nil && (string(text[:n]) != "shown" || from.String() != shown.Addr(to).String()) {
					t.Errorf("mode %s: the outside heard %q from %s", mode, text[:n], from)
				}
				return err
			})
		}
	}
}

// hearESP listens to the protocol at an address.
func hearESP(t *testing.T, p world.Netns, at netip.Addr) (c net.PacketConn) {
	t.Helper()
	err := p.Do(func() (err error) {
		c, err = net.ListenPacket(overESP(at), at.String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// sendESP sends one packet of the protocol.
func sendESP(t *testing.T, p world.Netns, to netip.Addr, text string) {
	t.Helper()
	err := p.Do(func() error {
		c, err := net.Dial(overESP(to), to.String())
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func overESP(a netip.Addr) string {
	if a.Is4() {
		return "ip4:50"
	}
	return "ip6:50"
}
