package modes_test

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/world"
)

// TestPortElsewhereOpen: connections that are open to the same port of another machine go on when
// the port is published, also those that are masqueraded. A flow to the port of the host does not.
func TestPortElsewhereOpen(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode, world.With("masquerade=true"))
		b := w.Pod(t, "b", "net")
		for _, to := range outsideAddrs {
			w.Outside.Listen(t, "tcp", netip.AddrPortFrom(to, 7000))
		}
		type open struct {
			net.Conn
			in *bufio.Reader
			of string
		}
		var all []open
		for _, from := range []world.Netns{b.Netns, w.Host} {
			for _, to := range outsideAddrs {
				c, err := from.Dial("tcp", netip.AddrPort{}, netip.AddrPortFrom(to, 7000), world.Patience)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				all = append(all, open{c, bufio.NewReader(c), fmt.Sprintf("%s to %s", from.Name, to)})
			}
		}
		talk := func(when string) {
			t.Helper()
			for _, c := range all {
				c.SetDeadline(time.Now().Add(world.Patience))
				fmt.Fprintln(c, when)
				for line := ""; line != when+"\n"; {
					var err error
					if line, err = c.in.ReadString('\n'); err != nil {
						t.Fatalf("the connection of %s, %s the port was published: %v", c.of, when, err)
					}
				}
			}
		}
		talk("before")
		ask := func(to netip.Addr) (world.Answer, error) {
			from := netip.AddrPortFrom(map[bool]netip.Addr{true: world.Outside4, false: world.Outside6}[to.Is4()], 4446)
			return w.Outside.AskFrom("udp", from, netip.AddrPortFrom(to, 7000), world.Refusal)
		}
		for _, to := range hostAddrs {
			if _, err := ask(to); err == nil {
				t.Fatalf("port 7000 of %s answers before it is published", to)
			}
		}
		a := w.Pod(t, "a", "net", world.Publish("7000:80/tcp"), world.Publish("7000:80/udp"))
		a.Serve(t, 80, a.Addrs()...)
		for _, to := range hostAddrs {
			answers(t, "a", "at "+to.String(), func() (world.Answer, error) { return ask(to) })
		}
		talk("after")
	})
}

// answers waits until a server answers a client that goes on asking: old connections
// are forgotten soon after the port is published.
func answers(t *testing.T, server, what string, ask func() (world.Answer, error)) {
	t.Helper()
	world.Within(t, 4*world.Patience, server+" answers "+what, func() error {
		got, err := ask()
		if err == nil && got.Server != server {
			err = fmt.Errorf("%s answers", got.Server)
		}
		return err
	})
}

// TestUDPAfterReattach: a client that goes on sending from the same port
// reaches the container that publishes the port now, with its new address.
func TestUDPAfterReattach(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode)
		publish := world.Publish("5353:53/udp")
		first := w.Pod(t, "first", "net", publish)
		first.Serve(t, 53, first.Addrs()...)
		callers := map[string]world.Netns{"outside": w.Outside, "host": w.Host}
		ask := func(want string) {
			t.Helper()
			for name, caller := range callers {
				for _, to := range hostAddrs {
					from := netip.AddrPortFrom(map[bool]netip.Addr{true: netip.IPv4Unspecified(), false: netip.IPv6Unspecified()}[to.Is4()], 4444)
					answers(t, want, fmt.Sprintf("%s at %s", name, to), func() (world.Answer, error) {
						return caller.AskFrom("udp", from, netip.AddrPortFrom(to, 5353), world.Refusal)
					})
				}
			}
		}
		ask("first")
		first.Leave(t)
		second := w.Pod(t, "second", "net", publish)
		second.Serve(t, 53, second.Addrs()...)
		ask("second")
	})
}

// TestUDPBeforeAttach: a client that was already sending to the port before it
// was published reaches the container from then on.
func TestUDPBeforeAttach(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode)
		for _, to := range hostAddrs {
			from := netip.AddrPortFrom(map[bool]netip.Addr{true: world.Outside4, false: world.Outside6}[to.Is4()], 4445)
			if _, err := w.Outside.AskFrom("udp", from, netip.AddrPortFrom(to, 5353), world.Refusal); err == nil {
				t.Fatalf("port 5353 of %s answers before it is published", to)
			}
		}
		a := w.Pod(t, "a", "net", world.Publish("5353:53/udp"))
		a.Serve(t, 53, a.Addrs()...)
		for _, to := range hostAddrs {
			from := netip.AddrPortFrom(map[bool]netip.Addr{true: world.Outside4, false: world.Outside6}[to.Is4()], 4445)
			answers(t, "a", "at "+to.String(), func() (world.Answer, error) {
				return w.Outside.AskFrom("udp", from, netip.AddrPortFrom(to, 5353), world.Refusal)
			})
		}
	})
}
