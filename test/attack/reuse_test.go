package attack_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/world"
)

// reuseAttacks leave connections behind for the next who gets the address: an
// accomplice outside goes on talking.
func reuseAttacks() []ownAttack {
	by := func(name string, end func(t *testing.T, w *world.World, p *world.Pod)) ownAttack {
		return ownAttack{class: "reuse", name: name, modes: "bridge routed overlay", mount: func(t *testing.T, mode string, open bool) bool {
			return inherits(t, mode, open, end)
		}}
	}
	return []ownAttack{
		by("connection of one who left", func(t *testing.T, _ *world.World, p *world.Pod) { p.Leave(t) }),
		by("connection of one whose end the agent did not live to see", func(t *testing.T, w *world.World, p *world.Pod) {
			var dead atomic.Bool // several goroutines of the agent ask at the same time
			w.TripAt(func(step string) error {
				if step == "ledger forget" {
					dead.Store(true)
				}
				if dead.Load() {
					return errStopped
				}
				return nil
			})
			if _, err := w.Detach(context.Background(), p.Endpoint.ID); err == nil {
				t.Fatal("the detach was not cut off")
			}
			w.Restart(t, func() { w.TripAt(nil) })
		}),
		by("connection of one whose namespace went", func(t *testing.T, w *world.World, p *world.Pod) {
			p.Delete()
			// an agent that searches just now may keep the namespace
			world.Soon(t, "collect the endpoint", func() error {
				removed, err := w.GC(context.Background(), "", nil)
				if err == nil && len(removed) == 0 && len(w.Endpoints()) > 0 {
					err = fmt.Errorf("it is there still")
				}
				return err
			})
		}),
	}
}

var errStopped = fmt.Errorf("stopped by the test")

// inherits has a container talk with the outside over UDP and end, and another get
// its addresses; it reports whether that one gets what the outside goes on to send.
func inherits(t *testing.T, mode string, open bool, end func(*testing.T, *world.World, *world.Pod)) bool {
	w := world.New(t)
	w.Host.ForgetFlows(t)
	w.Network(t, "net", mode, world.With("masquerade=true"))
	first := w.Pod(t, "first", "net")
	addrs := first.Addrs()
	outside := []netip.Addr{world.Outside4, world.Outside6}
	var accomplices []*net.UDPConn
	var talked []netip.AddrPort
	for i, at := range outside {
		accomplices = append(accomplices, bind(t, w.Outside, netip.AddrPortFrom(at, peerPort)))
		c, err := first.Dial("udp", netip.AddrPortFrom(addrs[i], peerPort), netip.AddrPortFrom(at, peerPort), world.Patience)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		talked = append(talked, heardFrom(t, accomplices[i]))
	}
	kept := flowsOf(t, w.Host, addrs)
	end(t, w, first)
	second := w.Pod(t, "second", "net", world.IP(addrs[0].String()), world.IP(addrs[1].String()))
	if open {
		for _, f := range kept {
			w.Host.Retrack(t, f)
		}
	}
	took := 0
	for i := range outside {
		c := second.Capture(t, "eth0")
		if _, err := accomplices[i].WriteToUDPAddrPort([]byte(mark), talked[i]); err != nil {
			t.Fatal(err)
		}
		e := eye{wanted: open}
		if e.saw(c, func(f world.Frame) bool { return !f.Out && world.Contains(mark)(f) }) {
			took++
		}
	}
	return took == len(outside) || !open && took > 0
}

// bind opens a UDP socket in a namespace.
func bind(t *testing.T, p world.Netns, at netip.AddrPort) (c *net.UDPConn) {
	t.Helper()
	err := p.Do(func() (err error) {
		c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// heardFrom waits for a datagram, and returns who sent it.
func heardFrom(t *testing.T, c *net.UDPConn) netip.AddrPort {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(world.Patience))
	_, from, err := c.ReadFromUDPAddrPort(make([]byte, 2048))
	if err != nil {
		t.Fatal(err)
	}
	return from
}

// flowsOf are the UDP connections that a namespace tracks from the addresses.
func flowsOf(t *testing.T, p world.Netns, from []netip.Addr) (all []*netlink.ConntrackFlow) {
	t.Helper()
	for _, family := range []netlink.InetFamily{unix.AF_INET, unix.AF_INET6} {
		err := p.Do(func() error {
			flows, err := netlink.ConntrackTableList(netlink.ConntrackTable, family)
			for _, f := range flows {
				src, _ := netip.AddrFromSlice(f.Forward.SrcIP)
				for _, a := range from {
					if f.Forward.Protocol == unix.IPPROTO_UDP && src.Unmap() == a {
						all = append(all, f)
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}
