package attack_test

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// protocolAttacks send the host what only its own peers should: tunnels, and
// protocols of routers, which trust whoever is near. They are known by their numbers
// (IANA, Assigned Internet Protocol Numbers and Port Numbers).
func protocolAttacks() []attack {
	both4and6 := func(numbers ...layers.IPProtocol) (all []message) {
		for _, v6 := range []bool{false, true} {
			for _, n := range numbers {
				all = append(all, message{v6: v6, protocol: n})
			}
		}
		return all
	}
	var tunnels []message
	for _, v6 := range []bool{false, true} {
		// L2TP, GTP-U, AMT, GTP, ESP in UDP, VXLAN-GPE, RoCE, GUE, GENEVE, TIPC, MPLS, VXLAN at Linux's first port, PFCP
		for _, port := range []uint16{1701, 2152, 2268, 3386, 4500, 4790, 4791, 6080, 6081, 6118, 6635, 8472, 8805} {
			tunnels = append(tunnels, message{v6: v6, protocol: layers.IPProtocolUDP, port: port})
		}
	}
	const options, esp, ah, udp, nothing = 60, 50, 51, 17, 59
	noOptions := []byte{0, 1, 4, 0, 0, 0, 0} // behind the next header's number
	noData := []byte{1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1}
	behind := func(headers ...[]byte) []byte { return slices.Concat(headers...) }
	all := []attack{
		named("IP in IP, GRE, EtherIP, L2TPv3, MPLS in IP", both4and6(4, 41, 47, 97, 115, 137)...),
		named("ESP and AH", both4and6(esp, ah)...),
		named("OSPF, PIM, VRRP, IGMP", append(both4and6(89, 103, 112), message{protocol: 2})...),
		named("a protocol that nobody asked for", append(both4and6(253), message{v6: true, protocol: nothing})...),
		// nft says of a packet with AH what is behind it (RFC 4302, 2)
		named("ESP and AH behind other headers",
			message{v6: true, protocol: options, heard: esp, headers: behind([]byte{esp}, noOptions)},
			message{v6: true, protocol: ah, headers: behind([]byte{udp}, noData)},
			message{v6: true, protocol: options, heard: ah, headers: behind([]byte{ah}, noOptions, []byte{udp}, noData)}),
		named("ESP in fragments", message{protocol: esp}),
		named("tunnels over UDP", tunnels...),
	}
	whole := all[5].frames
	all[5].counted, all[5].frames = 1, func(s *scene) [][]byte { return pieces(whole(s)[0]) }
	all[6].reason = "tunnel"
	return all
}

// message is what an attack sends to the host: marked, and behind headers.
type message struct {
	v6       bool
	protocol layers.IPProtocol
	port     uint16
	headers  []byte
	// heard is the protocol as which it is heard, if not by its own number.
	heard layers.IPProtocol
}

func (m message) frame(s *scene) []byte {
	dst := s.atHost(m.v6)
	src, e := s.attacker.Addr(dst), ether(s.attacker.Endpoint.MAC, s.gateway(), kindOf(dst))
	if m.port != 0 {
		return build(append([]gopacket.SerializableLayer{e}, between(src, dst, 5555, m.port, []byte(mark))...)...)
	}
	return build(e, internet(src, dst, m.protocol), gopacket.Payload(append(slices.Clone(m.headers), mark+mark...)))
}

// network is where the host would hear it, as listenRaw has it.
func (m message) network() string {
	family := map[bool]string{false: "4", true: "6"}[m.v6]
	if m.port != 0 {
		return fmt.Sprintf("udp%s:%d", family, m.port)
	}
	if m.heard != 0 {
		m.protocol = m.heard
	}
	return fmt.Sprintf("ip%s:%d", family, m.protocol)
}

// named is an attack of messages to the host.
func named(what string, messages ...message) attack {
	var networks []string
	for _, m := range messages {
		networks = append(networks, m.network())
	}
	return attack{class: "tunnel", name: what + " to the host", modes: both, reason: "protocol", watch: hears(networks...), frames: func(s *scene) (all [][]byte) {
		for _, m := range messages {
			all = append(all, m.frame(s))
		}
		return all
	}}
}

// atHost is the host's address that its containers use.
func (s *scene) atHost(v6 bool) netip.Addr {
	at := []netip.Addr{world.Host4, world.Host6}
	if !s.onLAN() {
		at = s.net.Gateways
	}
	if v6 {
		return at[1]
	}
	return at[0]
}

// ear is a socket of the host that hears an IP protocol or a UDP port.
type ear struct{ net.PacketConn }

// listenRaw listens to "ip4:50" or "ip6:50", a protocol, or to "udp4:4500", a port.
func listenRaw(t *testing.T, p world.Netns, network string) ear {
	t.Helper()
	address := "0.0.0.0"
	if strings.HasPrefix(network, "ip6") {
		address = "::"
	}
	if protocol, port, _ := strings.Cut(network, ":"); strings.HasPrefix(protocol, "udp") {
		network, address = protocol, ":"+port
	}
	var c net.PacketConn
	cell.Must(t, p.Do(func() (err error) {
		c, err = net.ListenPacket(network, address)
		return err
	}))
	return ear{c}
}

// next is the next packet of the attack.
func (e ear) next() ([]byte, error) {
	for b := make([]byte, 2048); ; {
		n, _, err := e.ReadFrom(b)
		if err != nil || bytes.Contains(b[:n], []byte(mark)) {
			return b[:n], err
		}
	}
}

// hears watches whether the attack comes as far as one of the host's sockets. Without
// the guard it has to come to all.
func hears(networks ...string) func(t *testing.T, s *scene) func() bool {
	return func(t *testing.T, s *scene) func() bool {
		var ears []ear
		for _, network := range networks {
			ears = append(ears, listenRaw(t, s.w.Host, network))
		}
		return func() bool {
			heard, end := 0, time.Now().Add(s.limit())
			for i, e := range ears {
				e.SetReadDeadline(end)
				if _, err := e.next(); err == nil {
					heard++
				} else if s.wanted {
					t.Logf("nothing at %s", networks[i])
				}
				e.Close()
			}
			return heard == len(ears) || !s.wanted && heard > 0
		}
	}
}
