package attack_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// shadowAttacks lay a masqueraded connection over a port of the host: what the peer
// then sends there would be an answer to the container.
func shadowAttacks() []ownAttack {
	over := func(name string, port uint16, by func(s *shadow) caller, at func(s *shadow) []netip.AddrPort, more ...layers.IPProtocol) ownAttack {
		return ownAttack{class: "shadow", name: name, modes: "bridge routed overlay", mount: func(t *testing.T, mode string, open bool) bool {
			s := newShadow(t, mode, open)
			return s.takes(t, by(s), port, at(s), append(more, layers.IPProtocolUDP, layers.IPProtocolTCP))
		}}
	}
	outside := func(s *shadow) caller { return s.outside }
	outsidePort := func(s *shadow) []netip.AddrPort { return at(peerPort, world.Outside4, world.Outside6) }
	return []ownAttack{
		over("over a port published for another container", publishedPort, outside, outsidePort, layers.IPProtocolSCTP),
		over("over a published port among those that masquerading uses", publishedHigh, outside, outsidePort, layers.IPProtocolSCTP),
		over("over a port of the host", servicePort, outside, outsidePort),
		over("over a port of the host among those that masquerading uses", serviceHigh, outside, outsidePort),
		over("over a port of the host, towards a neighbour's published one", servicePort,
			func(s *shadow) caller { return s.neighbour }, func(s *shadow) []netip.AddrPort { return at(neighbourPort, world.Host4, world.Host6) }),
	}
}

// The ports that the attacker wants, the one that the peer calls from, and where a
// neighbour's is published.
const (
	publishedPort, publishedHigh uint16 = 5060, 62000
	servicePort, serviceHigh     uint16 = 51820, 61820
	peerPort                     uint16 = 6060
	neighbourPort                uint16 = 8081
)

func at(port uint16, addrs ...netip.Addr) (all []netip.AddrPort) {
	for _, a := range addrs {
		all = append(all, netip.AddrPortFrom(a, port))
	}
	return all
}

// caller is somebody who sends frames of his own making: from his MAC address, to
// that of the host.
type caller struct {
	world.Netns
	mac, hop heddle.MAC
	addrs    []netip.Addr
	// calls are the host's addresses that he calls.
	calls []netip.Addr
}

// shadow is a host with a masqueraded network, containers whose ports are
// published, and a service of its own.
type shadow struct {
	w                            *world.World
	attacker, outside, neighbour caller
	open                         bool
}

func newShadow(t *testing.T, mode string, open bool) *shadow {
	t.Helper()
	s := &shadow{w: world.New(t), open: open}
	s.w.Host.Serve(t, serviceHigh, world.Host4, world.Host6)
	s.w.Restart(t, nil) // which looks at once who listens
	n := s.w.Network(t, "net", mode, world.With("masquerade=true"))
	publish := func(host, container uint16) []world.PodOption {
		mapping := fmt.Sprintf("%d:%d/", host, container)
		return []world.PodOption{world.Publish(mapping + "tcp"), world.Publish(mapping + "udp"), world.Publish(mapping + "sctp")}
	}
	as := func(p *world.Pod) caller {
		hop := p.Endpoint.ID.PortMAC()
		if mode == "bridge" {
			hop = n.GatewayMAC()
		}
		return caller{Netns: p.Netns, mac: p.Endpoint.MAC, hop: hop, addrs: p.Addrs(), calls: n.Gateways}
	}
	s.attacker = as(s.w.Pod(t, "attacker", "net"))
	s.neighbour = as(s.w.Pod(t, "neighbour", "net", publish(neighbourPort, peerPort)...))
	s.outside = caller{Netns: s.w.Outside, mac: macOf(t, s.w.Outside, "eth0"), hop: macOf(t, s.w.Host, "up0"),
		addrs: []netip.Addr{world.Outside4, world.Outside6}, calls: []netip.Addr{world.Host4, world.Host6}}
	victim := s.w.Pod(t, "victim", "net", append(publish(publishedPort, publishedPort), publish(publishedHigh, publishedHigh)...)...)
	for _, port := range []uint16{publishedPort, publishedHigh} {
		victim.Serve(t, port, victim.Addrs()...)
		for _, a := range victim.Addrs() {
			victim.Listen(t, "sctp", netip.AddrPortFrom(a, port))
		}
	}
	s.w.Host.Serve(t, servicePort, append(n.Gateways, world.Host4, world.Host6)...)
	for _, c := range []caller{s.attacker, s.neighbour, s.outside} {
		c.Reaches(t, c.calls...)
		// who sends frames of his own refuses no answer to them
		c.Sh(t, "nft 'table inet deaf { chain in { type filter hook input priority 0; meta l4proto { tcp, udp, sctp } drop; }; }'")
	}
	s.w.Host.ForgetFlows(t) // those of the attack before
	if open {
		unwatched(t, s.w)
		s.w.Host.Sh(t, "%s", plainMasquerade)
	}
	return s
}

// unwatched ends the agent, who would put back what a control takes away, until the
// end of the test.
func unwatched(t *testing.T, w *world.World) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Start(t) })
}

// plainMasquerade leaves connections the ports that they have.
const plainMasquerade = `nft 'flush chain inet heddle masquerading; flush chain inet heddle unshadow
	add rule inet heddle masquerading masquerade'`

// takes calls the peer from the wanted port, then has the peer call that port of the
// host. The attack has succeeded if the attacker hears of one call; its control, if
// of all. Calls that he does not hear of must be answered by the port's owner.
func (s *shadow) takes(t *testing.T, peer caller, port uint16, called []netip.AddrPort, protocols []layers.IPProtocol) bool {
	t.Helper()
	heard, answers := s.attacker.Capture(t, "eth0"), peer.Capture(t, "eth0")
	var asked []call
	for i, to := range called {
		for _, proto := range protocols {
			asked = append(asked, call{s.attacker.addrs[i], to.Addr(), port, to.Port(), proto})
		}
	}
	for _, c := range asked {
		world.Soon(t, "the attacker's call passes the host", func() error {
			s.attacker.Send(t, "eth0", c.frame(s.attacker, opening)) // again, as the floods of other tests may have it lost
			for _, flow := range s.w.Host.Tracked(t, c.src, c.dst) {
				if strings.Contains(flow, fmt.Sprintf("\t%d ", c.proto)) {
					return nil
				}
			}
			return fmt.Errorf("no connection %v", c)
		})
	}
	took := 0
	for i, c := range asked {
		v := i / len(protocols)
		back := call{peer.addrs[v], peer.calls[v], peerPort, port, c.proto}
		words := fmt.Sprint(mark, i)
		isHeard := func(f world.Frame) bool { return !f.Out && world.Contains(words)(f) }
		came := within(world.Patience, func() bool {
			peer.Send(t, "eth0", back.frame(peer, words))
			return heard.Has(isHeard) || answers.Has(back.isAnswer)
		})
		if came && heard.Has(isHeard) {
			took++
		} else if !answers.Has(back.isAnswer) {
			t.Errorf("%v reaches neither the attacker nor the port's owner", back)
		} else if s.open {
			t.Logf("%v is the owner's; tracked: %q", back, s.w.Host.Tracked(t, c.src, c.dst))
		}
	}
	return took == len(asked) || !s.open && took > 0
}

// call is a datagram, or the first segment of a TCP connection, or the first chunk of one of SCTP.
type call struct {
	src, dst netip.Addr
	from, to uint16
	proto    layers.IPProtocol
}

func (c call) frame(by caller, words string) []byte {
	e := ether(by.mac, by.hop, kindOf(c.dst))
	if c.proto == layers.IPProtocolUDP {
		return build(append([]gopacket.SerializableLayer{e}, between(c.src, c.dst, c.from, c.to, []byte(words))...)...)
	}
	head := internet(c.src, c.dst, c.proto)
	if c.proto == layers.IPProtocolSCTP {
		return build(e, head, gopacket.Payload(world.SCTPCall(c.from, c.to, words)))
	}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(c.from), DstPort: layers.TCPPort(c.to), SYN: true, Window: 1000, Seq: 1}
	tcp.SetNetworkLayerForChecksum(head.(gopacket.NetworkLayer))
	return build(e, head, tcp, gopacket.Payload(words))
}

// opening is what the attacker says first.
const opening = "the attacker's call"

// isAnswer reports whether a frame answers the call. The attacker's own call does not,
// which comes from the same port if nothing guards that.
func (c call) isAnswer(f world.Frame) bool {
	p := f.Packet()
	flow := p.NetworkLayer()
	if f.Out || flow == nil || flow.NetworkFlow().Src().String() != c.dst.String() {
		return false
	}
	if l, is := p.Layer(layers.LayerTypeSCTP).(*layers.SCTP); is {
		return c.proto == layers.IPProtocolSCTP && uint16(l.SrcPort) == c.to && uint16(l.DstPort) == c.from && p.Layer(layers.LayerTypeSCTPInitAck) != nil
	}
	switch l := p.TransportLayer().(type) {
	case *layers.UDP:
		return c.proto == layers.IPProtocolUDP && uint16(l.SrcPort) == c.to && uint16(l.DstPort) == c.from && !world.Contains(opening)(f)
	case *layers.TCP:
		return c.proto == layers.IPProtocolTCP && uint16(l.SrcPort) == c.to && uint16(l.DstPort) == c.from && l.SYN && l.ACK
	}
	return false
}
