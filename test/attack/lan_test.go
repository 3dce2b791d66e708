package attack_test

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// lanAttacks come from a neighbour of the host on its LAN, who has routes to
// the containers' subnets by the host; and from containers that want what is
// published for others.
func lanAttacks() []attack {
	return []attack{
		{class: "lan", name: "unpublished ports from the LAN", modes: bridged, reason: "isolated", try: allPorts(victim4), unguard: open},
		{class: "lan", name: "unpublished IPv6 ports from the LAN", modes: bridged, reason: "isolated", try: allPorts(victim6), unguard: open},
		{class: "lan", name: "gateway's address from the LAN", modes: both, reason: "isolated", unguard: openGates, try: fromLAN(gateway4)},
		{class: "lan", name: "gateway's IPv6 address from the LAN", modes: both, reason: "isolated", unguard: openGates, try: fromLAN(gateway6)},
		{class: "lan", name: "port published on the loopback from the LAN", modes: both, reason: "loopback", try: loopbackFromLAN},
		{class: "portmap", name: "port published on the loopback, at the host's address", modes: both, try: func(t *testing.T, s *scene) bool {
			return s.answers(s.w.Outside, "attacker", netip.AddrPortFrom(world.Host4, 8080))
		}, unguard: func(s *scene) string {
			return fmt.Sprintf("nft add element inet heddle any4 { tcp . 8080 : %s . 80 }", s.attacker.V4())
		}},
		{class: "portmap", name: "same port of another address", modes: both, try: func(t *testing.T, s *scene) bool {
			return s.answers(s.victim.Netns, "attacker", netip.AddrPortFrom(world.Outside4, 8081))
		}, unguard: func(s *scene) string {
			return fmt.Sprintf("nft insert rule inet heddle dstnat meta nfproto ipv4 tcp dport 8081 dnat ip to %s:80", s.attacker.V4())
		}},
	}
}

func victim4(s *scene) netip.Addr { return s.victim.V4() }
func victim6(s *scene) netip.Addr { return s.victim.V6() }

// openGates lets everybody call every gateway.
func openGates(*scene) string { return "nft flush chain inet heddle input" }

// answers reports whether the server of that name answers.
func (s *scene) answers(from world.Netns, server string, at netip.AddrPort) bool {
	got, err := from.AskFrom("tcp", netip.AddrPort{}, at, max(s.limit(), world.Refusal))
	return err == nil && got.Server == server
}

// fromLAN calls the host's service on a gateway's address.
func fromLAN(gateway func(s *scene) netip.Addr) func(t *testing.T, s *scene) bool {
	return func(t *testing.T, s *scene) bool {
		return s.answers(s.w.Outside, "host", netip.AddrPortFrom(gateway(s), loopPort))
	}
}

// macOf is the MAC address of a link of the namespace.
func macOf(t *testing.T, p world.Netns, link string) heddle.MAC {
	t.Helper()
	var l *net.Interface
	err := p.Do(func() (err error) {
		l, err = net.InterfaceByName(link)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return heddle.MAC(l.HardwareAddr.String())
}

// fromOutside is the header of a frame from the LAN to the host.
func fromOutside(t *testing.T, s *scene, kind layers.EthernetType) *layers.Ethernet {
	t.Helper()
	return ether(macOf(t, s.w.Outside, "eth0"), macOf(t, s.w.Host, "up0"), kind)
}

// allPorts tries every port of a container from the LAN; an answer of any kind
// shows that it is reached. One in 64 will do where the guard is away, or the
// processor is emulated.
func allPorts(of func(s *scene) netip.Addr) func(t *testing.T, s *scene) bool {
	return func(t *testing.T, s *scene) bool {
		s.victim.Sh(t, "ip neigh flush dev eth0")
		to, from := of(s), world.Outside4
		if to.Is6() {
			from = world.Outside6
		}
		step := 1
		if s.open || vm.InGuest() {
			step = 64
		}
		e := fromOutside(t, s, kindOf(to))
		var frames [][]byte
		for port := 0; port < 1<<16; port += step {
			frames = append(frames, segment(e, from, to, 6666, uint16(port)))
		}
		c := s.w.Outside.Capture(t, "eth0")
		for some := range slices.Chunk(frames, 256) { // the host's queue takes some hundred
			s.w.Outside.Send(t, "eth0", some...)
			time.Sleep(time.Millisecond)
		}
		return s.saw(c, func(f world.Frame) bool {
			if f.Out {
				return false
			}
			tcp, ok := f.Packet().TransportLayer().(*layers.TCP)
			return ok && tcp.DstPort == 6666
		})
	}
}

// loopbackFromLAN sends to 127.0.0.1 by wire, where a port of the attacker's is
// published; it succeeds if the container hears of it (moby #45610).
func loopbackFromLAN(t *testing.T, s *scene) bool {
	c := s.attacker.Capture(t, "eth0")
	s.w.Outside.Send(t, "eth0", segment(fromOutside(t, s, ip4), world.Outside4, loopback4, 6667, 8080))
	return s.saw(c, func(f world.Frame) bool {
		tcp, ok := f.Packet().TransportLayer().(*layers.TCP)
		return ok && !f.Out && tcp.DstPort == 80 && tcp.SrcPort == 6667
	})
}

func contains(text, part string) bool { return strings.Contains(text, part) }
