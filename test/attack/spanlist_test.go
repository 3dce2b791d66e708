package attack_test

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle/path"
	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/world"
)

// spanAttack is something that neither a container nor a machine on the underlay
// should be able to do to networks that span hosts.
type spanAttack struct {
	name, reason string
	// guardian is the host that counts it, the first by default.
	guardian int
	// only4: there is no such thing with IPv6 inside.
	only4 bool
	// counted is how many packets the reason counts, if not all that are sent.
	counted uint64
	certain string
	// frames are put on a link of the namespace; act does something else, which is one
	// packet.
	frames func(s *spanScene) (world.Netns, [][]byte)
	act    func(t *testing.T, s *spanScene)
	watch  func(t *testing.T, s *spanScene) func() bool
}

func spanAttacks() []spanAttack {
	return slices.Concat(wireAttacks(), peerAttacks(), podAttacks(), localAttacks(), engineAttacks(), translatedAttacks(), []spanAttack{userPort()})
}

// outer is a VXLAN packet from a port that tunnels use.
func (s *spanScene) outer(e *layers.Ethernet, src, dst netip.Addr, payload []byte) []byte {
	return s.outerFrom(e, src, dst, privileged, payload)
}

func (s *spanScene) outerFrom(e *layers.Ethernet, src, dst netip.Addr, port uint16, payload []byte) []byte {
	return build(append([]gopacket.SerializableLayer{e}, between(src, dst, port, path.Default().Port(), payload)...)...)
}

// inDevice watches for the mark in a host's tunnel device.
func inDevice(host int) func(t *testing.T, s *spanScene) func() bool {
	return func(t *testing.T, s *spanScene) func() bool {
		h := s.Hosts[host]
		return s.arrives(t, h.Netns, h.Tunnel())
	}
}

func atPod(pick func(s *spanScene) *span.Pod) func(t *testing.T, s *spanScene) func() bool {
	return func(t *testing.T, s *spanScene) func() bool { return s.arrives(t, pick(s).Netns, "eth0") }
}

var (
	spanVictim   = atPod(func(s *spanScene) *span.Pod { return s.victim })
	spanStranger = atPod(func(s *spanScene) *span.Pod { return s.stranger })
)

// atService watches whether a service of the first host hears.
func atService(_ *testing.T, s *spanScene) func() bool {
	before := s.heard.Load()
	return func() bool { return s.sees(func() bool { return s.heard.Load() > before }) }
}

// peerNarrows watches whether the first host comes to believe that the way to the
// second carries less.
func peerNarrows(t *testing.T, s *spanScene) func() bool {
	return func() bool {
		return s.sees(func() bool { return strings.Contains(s.first.Sh(t, "ip route get %s", s.second.Outer()), " mtu ") })
	}
}

// spanHears watches whether the first host hears the attack, see listenRaw.
func spanHears(network string) func(t *testing.T, s *spanScene) func() bool {
	return func(t *testing.T, s *spanScene) func() bool {
		e := listenRaw(t, s.first.Netns, network)
		return func() bool {
			defer e.Close()
			e.SetReadDeadline(time.Now().Add(s.limit()))
			_, err := e.next()
			return err == nil
		}
	}
}

// wireAttacks come from a machine on the underlay that is no host.
func wireAttacks() []spanAttack {
	return []spanAttack{
		{name: "VXLAN from an unknown machine", reason: "unknown-peer", watch: spanVictim, frames: func(s *spanScene) (world.Netns, [][]byte) {
			return s.LAN, [][]byte{s.fromWire(vxlan(span.VNI, s.frame(s.of(s.remote), s.of(s.victim))))}
		}},
		{name: "VXLAN from an unknown machine in fragments", reason: "unknown-peer", counted: 1, watch: spanVictim, frames: func(s *spanScene) (world.Netns, [][]byte) {
			return s.LAN, pieces(s.fromWire(vxlan(span.VNI, s.frame(s.of(s.remote), s.of(s.victim)))))
		}},
	}
}

// peerAttacks come from a host of the cluster that somebody has taken over.
func peerAttacks() []spanAttack {
	inner := func(name, reason string, watch func(*testing.T, *spanScene) func() bool, frame func(s *spanScene) []byte) spanAttack {
		return spanAttack{name: name, reason: reason, watch: watch, frames: func(s *spanScene) (world.Netns, [][]byte) {
			return s.second.Netns, [][]byte{s.fromPeer(vxlan(span.VNI, frame(s)))}
		}}
	}
	typed := func(kind layers.EthernetType) func(s *spanScene) []byte {
		return func(s *spanScene) []byte {
			f := s.frame(s.of(s.remote), s.of(s.victim))
			binary.BigEndian.PutUint16(f[12:], uint16(kind))
			return f
		}
	}
	to := func(v4, v6 string) func(s *spanScene) []byte {
		return func(s *spanScene) []byte {
			return s.frame(s.of(s.remote), netip.MustParseAddr([]string{v4, v6}[s.inner]))
		}
	}
	all := []spanAttack{
		inner("a peer as a container of another host", "spoofed-inner", spanVictim, func(s *spanScene) []byte { return s.frame(s.of(s.attacker), s.of(s.victim)) }),
		inner("a peer as the gateway", "spoofed-inner", inDevice(0), func(s *spanScene) []byte { return s.frame(s.net.Gateways[s.inner], s.of(s.victim)) }),
		inner("a peer as a machine outside", "spoofed-inner", inDevice(0), func(s *spanScene) []byte {
			return s.frame([]netip.Addr{span.LAN4, span.LAN6}[s.inner], s.of(s.victim))
		}),
		inner("a peer's container to another network", "isolated", spanStranger, func(s *spanScene) []byte { return s.frame(s.of(s.remote), s.of(s.stranger)) }),
		inner("ARP inside", "spoofed-inner", inDevice(0), typed(layers.EthernetTypeARP)),
		inner("802.1Q inside", "spoofed-inner", inDevice(0), typed(layers.EthernetTypeDot1Q)),
		inner("a header inside that is cut short", "spoofed-inner", inDevice(0), func(s *spanScene) []byte {
			return append(s.frame(s.of(s.remote), s.of(s.victim))[:14], mark...)
		}),
		inner("a peer to the host's own address", "isolated", atService, func(s *spanScene) []byte { return s.frame(s.of(s.remote), s.first.Underlays()[s.inner]) }),
		inner("a peer to a group", "isolated", atService, to("224.0.0.1", "ff02::1")),
		inner("a peer to another network's gateway", "isolated", atService, func(s *spanScene) []byte { return s.frame(s.of(s.remote), s.other.Gateways[s.inner]) }),
		inner("a peer to another network's host address", "isolated", atService, func(s *spanScene) []byte {
			return s.frame(s.of(s.remote), span.Source(s.other.Subnets[s.inner], 0))
		}),
		inner("a peer to everybody", "isolated", atService, to("255.255.255.255", "")),
		inner("a peer to the loopback", "loopback", atService, to("127.0.0.1", "::1")),
		{name: "a peer as a container of another host, in fragments", reason: "spoofed-inner", counted: 1, watch: spanVictim, frames: func(s *spanScene) (world.Netns, [][]byte) {
			return s.second.Netns, pieces(s.fromPeer(vxlan(span.VNI, s.frame(s.of(s.attacker), s.of(s.victim)))))
		}},
		{name: "a peer's container to its network's host address by ESP", only4: true, reason: "protocol", watch: spanHears("ip4:50"), frames: func(s *spanScene) (world.Netns, [][]byte) {
			e := ether(s.second.Record.TunnelMAC(), s.first.Record.TunnelMAC(), ip4)
			head := internet(s.of(s.remote), span.Source(s.net.Subnets[0], 0), layers.IPProtocolESP)
			return s.second.Netns, [][]byte{s.fromPeer(vxlan(span.VNI, build(e, head, gopacket.Payload(mark+mark))))}
		}},
		{name: "another cluster's number", certain: "no device has the number", watch: inDevice(0), frames: func(s *spanScene) (world.Netns, [][]byte) {
			return s.second.Netns, [][]byte{s.fromPeer(vxlan(span.VNI+1, s.frame(s.of(s.remote), s.of(s.victim))))}
		}},
	}
	for i := range all {
		switch all[i].name {
		case "a peer to everybody":
			all[i].only4 = true
		case "a peer to the loopback":
			all[i].only4, all[i].certain = true, "the kernel routes no packet to it"
		case "a header inside that is cut short":
			all[i].certain = "the kernel takes no IP packet without its header"
		}
	}
	return all
}

// podAttacks come from containers.
func podAttacks() []spanAttack {
	pod := func(name, reason string, watch func(*testing.T, *spanScene) func() bool, frame func(s *spanScene) []byte) spanAttack {
		return spanAttack{name: name, reason: reason, watch: watch, frames: func(s *spanScene) (world.Netns, [][]byte) {
			return s.attacker.Netns, [][]byte{frame(s)}
		}}
	}
	return []spanAttack{
		pod("a container's VXLAN to its own host", "unknown-peer", spanVictim, func(s *spanScene) []byte {
			return s.fromPod(s.attacker, s.ownOuter(s.attacker), s.first.Outer(), vxlan(span.VNI, s.frame(s.of(s.remote), s.of(s.victim))))
		}),
		pod("a container's VXLAN to its gateway", "unknown-peer", inDevice(0), func(s *spanScene) []byte {
			return s.fromPod(s.attacker, s.ownOuter(s.attacker), s.like(s.net.Gateways[0], s.net.Gateways[1]), vxlan(span.VNI, s.frame(s.of(s.remote), s.of(s.victim))))
		}),
		pod("a container's VXLAN as a peer's", "spoofed-ip", spanVictim, func(s *spanScene) []byte {
			return s.fromPod(s.attacker, s.second.Outer(), s.first.Outer(), vxlan(span.VNI, s.frame(s.of(s.remote), s.of(s.victim))))
		}),
		pod("a container's VXLAN to a peer, masqueraded", "tunnel", inDevice(1), toSecond),
		{name: "another engine's container, masqueraded", reason: "tunnel", watch: inDevice(1), frames: func(s *spanScene) (world.Netns, [][]byte) {
			src := s.like(netip.MustParseAddr("172.31.0.2"), netip.MustParseAddr("fd31::2"))
			return s.engine, [][]byte{s.outer(ether(strangerMAC, s.engineMAC, kindOf(src)), src, s.second.Outer(), vxlan(span.VNI, s.back()))}
		}},
		{name: "another engine's container as a peer", reason: "spoofed-peer", watch: spanVictim, frames: func(s *spanScene) (world.Netns, [][]byte) {
			e := ether(strangerMAC, s.engineMAC, kindOf(s.first.Outer()))
			return s.engine, [][]byte{s.outer(e, s.second.Outer(), s.first.Outer(), vxlan(span.VNI, s.frame(s.of(s.remote), s.of(s.victim))))}
		}},
		pod("a container as one of another host", "spoofed-ip", spanVictim, func(s *spanScene) []byte {
			return datagram(ether(s.attacker.Endpoint.MAC, s.attacker.Endpoint.ID.PortMAC(), kindOf(s.of(s.remote))), s.of(s.remote), s.of(s.victim))
		}),
		{name: "a container's error about the tunnel to a peer", only4: true, reason: "spoofed-error", watch: peerNarrows, frames: func(s *spanScene) (world.Netns, [][]byte) {
			to, head := s.first.Outer(), tooBig4
			if to.Is6() {
				head = tooBig6
			}
			// not the port of the others' packets, which may be translated
			quoted := raw(between(to, s.second.Outer(), hostPort, path.Default().Port(), vxlan(span.VNI, s.back()))...)
			e := ether(s.attacker.Endpoint.MAC, s.attacker.Endpoint.ID.PortMAC(), kindOf(to))
			return s.attacker.Netns, [][]byte{icmpError(e, s.ownOuter(s.attacker), to, head, quoted)}
		}},
		{name: "a container to another network's host address", reason: "isolated", watch: atService, frames: func(s *spanScene) (world.Netns, [][]byte) {
			e := s.stranger.Endpoint
			return s.stranger.Netns, [][]byte{datagram(ether(e.MAC, e.ID.PortMAC(), kindOf(s.of(s.stranger))), s.of(s.stranger), span.Source(s.net.Subnets[s.inner], 0))}
		}},
		{name: "a container to one of another network on another host", reason: "isolated", watch: inDevice(1), frames: func(s *spanScene) (world.Netns, [][]byte) {
			e := s.stranger.Endpoint
			return s.stranger.Netns, [][]byte{datagram(ether(e.MAC, e.ID.PortMAC(), kindOf(s.of(s.stranger))), s.of(s.stranger), s.of(s.remote))}
		}},
	}
}

// back is a frame for the second host's tunnel, from a container of the first.
func (s *spanScene) back() []byte { return s.backTo(s.remote) }

// backTo is one for a container there, from an address of the first host's in its
// network.
func (s *spanScene) backTo(p *span.Pod) []byte {
	src := span.Addr(p.Endpoint.Addrs[s.inner].Masked(), 0, 1)
	return datagram(ether(s.first.Record.TunnelMAC(), s.second.Record.TunnelMAC(), kindOf(src)), src, s.of(p))
}

// toSecond is VXLAN of the attacker to the second host, in the name of another.
func toSecond(s *spanScene) []byte {
	return s.fromPod(s.attacker, s.ownOuter(s.attacker), s.second.Outer(), vxlan(span.VNI, s.back()))
}

// pieces cuts an IP packet into two fragments, the inner headers in the second.
func pieces(frame []byte) [][]byte {
	head, id := frame[:14], []byte{0, 0, 0xbe, 0xef}
	const first = 16 // of UDP and VXLAN, or of ICMP and what it quotes
	var all [][]byte
	if frame[14]>>4 == 4 {
		ip, body := frame[14:34], frame[34:]
		for i, part := range [][]byte{body[:first], body[first:]} {
			h := append([]byte{}, ip...)
			binary.BigEndian.PutUint16(h[2:], uint16(20+len(part)))
			copy(h[4:], id[2:])
			binary.BigEndian.PutUint16(h[6:], []uint16{0x2000, first / 8}[i])
			h[10], h[11] = 0, 0
			binary.BigEndian.PutUint16(h[10:], checksum(h))
			all = append(all, append(append(append([]byte{}, head...), h...), part...))
		}
		return all
	}
	ip, body := frame[14:54], frame[54:]
	for i, part := range [][]byte{body[:first], body[first:]} {
		h := append([]byte{}, ip...)
		binary.BigEndian.PutUint16(h[4:], uint16(8+len(part)))
		h[6] = byte(layers.IPProtocolIPv6Fragment)
		fragment := []byte{ip[6], 0, 0, []byte{1, first}[i]} // RFC 8200, 4.5
		all = append(all, append(append(append(append(append([]byte{}, head...), h...), fragment...), id...), part...))
	}
	return all
}

// checksum is that of an IPv4 header (RFC 1071).
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
