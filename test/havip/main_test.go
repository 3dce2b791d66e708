// Package havip_test proves what HAVIPs promise, on real kernels: an address goes to the member that has announced it last, from wherever it is
// called, and to nobody else.
package havip_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// The addresses, and the port at which members answer with their names.
var vip4, vip6 = netip.MustParseAddr("10.20.0.100"), netip.MustParseAddr("fd20::100")

const port, published = 7000, 8080

func balancer(r *heddle.AttachRequest) { r.Labels = map[string]string{"role": "lb"} }

// create makes the addresses "four" and "six" of a network, of the endpoints with the label role=lb.
func create(t *testing.T, w *world.World, network string) {
	t.Helper()
	for name, a := range map[string]netip.Addr{"four": vip4, "six": vip6} {
		all := heddle.FamilyOf(a).Any()
		cell.Must(t, make1(w, havip.HAVIP{Name: name, Network: network, Address: a, Members: policy.Selector{Labels: map[string]string{"role": "lb"}},
			Ports: []heddle.PortMapping{{HostIP: all.Addr(), HostPort: published, ContainerPort: port, Protocol: "tcp"}}}))
	}
}

func make1(w *world.World, h havip.HAVIP) error {
	_, _, err := w.CreateHAVIP(h, false)
	return err
}

// serve gives a member the addresses, as keepalived does, and has it answer at them.
func serve(t *testing.T, p *world.Pod) {
	t.Helper()
	p.Sh(t, "ip address add %s/32 dev eth0; ip address add %s/128 dev eth0 nodad", vip4, vip6)
	p.Serve(t, port, vip4, vip6)
}

// announce has an endpoint say that it has an address.
func announce(t *testing.T, p *world.Pod, addrs ...netip.Addr) {
	t.Helper()
	for _, a := range addrs {
		frame := arp(1, p.Endpoint.MAC, p.Endpoint.MAC, a, a)
		if a.Is6() {
			frame = advertisement(p.Endpoint.MAC, p.Endpoint.MAC, a, a)
		}
		p.Send(t, "eth0", frame)
	}
}

// arp is a broadcast (RFC 826).
func arp(operation uint16, source, hardware heddle.MAC, sender, target netip.Addr) []byte {
	b := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, source.Bytes()...)
	b = append(b, 0x08, 0x06, 0, 1, 8, 0, 6, 4)
	b = append(append(binary.BigEndian.AppendUint16(b, operation), hardware.Bytes()...), sender.AsSlice()...)
	return append(append(b, make([]byte, 6)...), target.AsSlice()...)
}

// advertisement is a neighbour advertisement to all nodes, with the override flag (RFC 4861, 4.4).
func advertisement(source, hardware heddle.MAC, from, target netip.Addr) []byte {
	all := netip.MustParseAddr("ff02::1").AsSlice()
	icmp := append([]byte{136, 0, 0, 0, 0x20, 0, 0, 0}, target.AsSlice()...)
	icmp = append(append(icmp, 2, 1), hardware.Bytes()...)
	pseudo := append(append(from.AsSlice(), all...), 0, 0, 0, byte(len(icmp)), 0, 0, 0, 58)
	sum := uint32(0)
	for b := append(pseudo, icmp...); len(b) > 1; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(icmp[2:], ^uint16(sum))
	b := append([]byte{0x33, 0x33, 0, 0, 0, 1}, source.Bytes()...)
	b = append(b, 0x86, 0xdd, 0x60, 0, 0, 0, 0, byte(len(icmp)), 58, 255)
	return append(append(append(b, from.AsSlice()...), all...), icmp...)
}

// held waits until an endpoint holds both addresses; nil stands for nobody.
func held(t *testing.T, w *world.World, by *world.Pod) {
	t.Helper()
	world.Soon(t, "the addresses have their holder", func() error {
		for _, name := range []string{"four", "six"} {
			h, err := w.HAVIP(name)
			switch {
			case err != nil:
				return err
			case (h.Holder == nil) != (by == nil) || by != nil && *h.Holder != by.Endpoint.ID:
				return fmt.Errorf("%s is held by %v", name, h.Holder)
			}
		}
		return nil
	})
}

// changes counts how often an address has got another holder.
func changes(w *world.World) int { return strings.Count(w.Logged(), "an address has another holder") }

// changed waits until addresses have got another holder so often, and fails the test if it was more often.
func changed(t *testing.T, w *world.World, times int) {
	t.Helper()
	world.Soon(t, "the log tells the holders", func() error {
		if changes(w) < times {
			return errNotYet
		}
		return nil
	})
	if n := changes(w); n != times {
		t.Errorf("addresses have got another holder %d times, not %d", n, times)
	}
}

// answers fails the test if not server answers at the addresses, to each of the callers.
func answers(t *testing.T, server string, port uint16, to []netip.Addr, callers ...world.Netns) {
	t.Helper()
	for _, c := range callers {
		for _, a := range to {
			got, err := c.Ask("tcp", netip.AddrPortFrom(a, port))
			if err != nil || got.Server != server {
				t.Errorf("%s at %s: %q, %v, want %s", c.Name, a, got.Server, err, server)
			}
		}
	}
}

var errNotYet = errors.New("not yet")

func containsAddr(frame []byte, a netip.Addr) bool { return bytes.Contains(frame, a.AsSlice()) }

// dropped reports whether a counter of nft's list has counted.
func dropped(list, reason string) bool {
	_, rest, found := strings.Cut(list, "counter "+reason+" {")
	counted, _, _ := strings.Cut(rest, "}")
	return found && !strings.Contains(counted, "packets 0 ")
}

// silent fails the test if a server answers the caller.
func silent(t *testing.T, caller world.Netns, port uint16, to ...netip.Addr) {
	t.Helper()
	for _, a := range to {
		if got, err := caller.AskFrom("tcp", netip.AddrPort{}, netip.AddrPortFrom(a, port), 100*time.Millisecond); err == nil {
			t.Errorf("%s at %s: %s answers", caller.Name, a, got.Server)
		}
	}
}
