package attack_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// Ports of the connections that forged errors are about: the host's, and a
// neighbour's.
const (
	hostPort = 4545
	kinPort  = 4547
)

// The far ends of the host's connections, one for each attack: what the kernel has
// learnt of a path it keeps for ten minutes.
var (
	narrow4, narrow6 = netip.MustParseAddr("203.0.113.21"), netip.MustParseAddr("2001:db8:f::21")
	pieced4, pieced6 = netip.MustParseAddr("203.0.113.22"), netip.MustParseAddr("2001:db8:f::22")
	ended4, ended6   = netip.MustParseAddr("203.0.113.23"), netip.MustParseAddr("2001:db8:f::23")
)

// Kinds of ICMP errors (RFC 792; RFC 4443, 2.1: those below 128, known or not).
var (
	errors4 = []byte{3, 4, 5, 11, 12}
	errors6 = []byte{1, 2, 3, 4, 100}
)

// errorAttacks are ICMP errors of the attacker's own making, about packets that were
// not sent to it.
func errorAttacks() []attack {
	toHost := func(to, about netip.Addr, heads ...[]byte) func(s *scene) [][]byte {
		return func(s *scene) (all [][]byte) {
			for _, head := range heads {
				e := ether(s.attacker.Endpoint.MAC, s.gateway(), kindOf(to))
				all = append(all, icmpError(e, s.attacker.Addr(to), to, head, quote(to, about, hostPort)))
			}
			return all
		}
	}
	toKin := func(head []byte, of func(*scene) netip.Addr, about func(*scene) netip.Addr) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			e := ether(s.attacker.Endpoint.MAC, s.hop(s.victim), kindOf(of(s)))
			return [][]byte{icmpError(e, s.attacker.Addr(of(s)), of(s), head, quote(of(s), about(s), kinPort))}
		}
	}
	kinds := func(all []byte) (heads [][]byte) {
		for _, kind := range all {
			heads = append(heads, []byte{kind, 0, 0, 0, 0, 0, 5, 0})
		}
		return heads
	}
	whole4, whole6 := toHost(world.Host4, pieced4, tooBig4), toHost(world.Host6, pieced6, tooBig6)
	detour := func(piece bool) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			e := ether(s.attacker.Endpoint.MAC, s.gateway(), ip6)
			return [][]byte{icmpError(e, s.attacker.V6(), world.Host6, closed6, routedQuote(world.Host6, s.attacker.V6(), ended6, hostPort, piece))}
		}
	}
	all := []attack{
		{name: "the host's path MTU", watch: narrows(narrow4, "mtu 552"), frames: toHost(world.Host4, narrow4, tooBig4)},
		{name: "the host's path MTU over IPv6", watch: narrows(narrow6, "mtu 1280"), frames: toHost(world.Host6, narrow6, tooBig6)},
		{name: "the host's path MTU, in fragments", counted: 1, watch: narrows(pieced4, "mtu 552"), frames: func(s *scene) [][]byte { return pieces(whole4(s)[0]) }},
		{name: "the host's path MTU over IPv6, in fragments", counted: 1, watch: narrows(pieced6, "mtu 1280"), frames: func(s *scene) [][]byte { return pieces(whole6(s)[0]) }},
		{name: "an end of the host's connection", watch: ends(theHost, fixed(world.Host4), fixed(ended4), hostPort), frames: toHost(world.Host4, ended4, closed4)},
		{name: "an end of the host's connection over IPv6", watch: ends(theHost, fixed(world.Host6), fixed(ended6), hostPort), frames: toHost(world.Host6, ended6, closed6)},
		{name: "an end of the host's connection behind a routing header", watch: ends(theHost, fixed(world.Host6), fixed(ended6), hostPort), frames: detour(false)},
		{name: "an end of the host's connection behind a routing header in a fragment", watch: ends(theHost, fixed(world.Host6), fixed(ended6), hostPort), frames: detour(true)},
		{name: "all kinds of errors to the host", watch: told("ip4:icmp", errors4), frames: toHost(world.Host4, ended4, kinds(errors4)...)},
		{name: "all kinds of IPv6 errors to the host", watch: told("ip6:ipv6-icmp", errors6), frames: toHost(world.Host6, ended6, kinds(errors6)...)},
		{name: "an end of a neighbour's connection", watch: ends(theVictim, victim4, witness4, kinPort), frames: toKin(closed4, victim4, witness4)},
		{name: "an end of a neighbour's connection over IPv6", watch: ends(theVictim, victim6, witness6, kinPort), frames: toKin(closed6, victim6, witness6)},
	}
	for i := range all {
		all[i].class, all[i].modes, all[i].reason = "error", both, "spoofed-error"
	}
	return all
}

// The first eight bytes of errors: too big for 552 or 1280 bytes, and port unreachable.
var (
	tooBig4, tooBig6 = []byte{3, 4, 0, 0, 0, 0, 2, 0x28}, []byte{2, 0, 0, 0, 0, 0, 5, 0}
	closed4, closed6 = []byte{3, 3, 0, 0, 0, 0, 0, 0}, []byte{1, 4, 0, 0, 0, 0, 0, 0}
)

// quote is a packet of a connection, as an error quotes it.
func quote(from, to netip.Addr, port uint16) []byte {
	return raw(between(from, to, port, port, []byte(mark))...)
}

// routedQuote is such a packet on its way by segments, the last of which is its true
// destination (RFC 8754, 2); as a piece, which is the first and the last (RFC 6946), the
// routing header stands behind the fragment's.
func routedQuote(from, by, to netip.Addr, port uint16, piece bool) []byte {
	next, parts := layers.IPProtocolIPv6Routing, []byte{}
	if piece {
		next, parts = layers.IPProtocolIPv6Fragment, []byte{byte(next), 0, 0, 0, 0, 0, 0, 7}
	}
	segments := append([]byte{byte(layers.IPProtocolUDP), 2, 4, 0, 0, 0, 0, 0}, to.AsSlice()...)
	udp := quote(from, to, port)[40:]
	return raw(internet(from, by, next), gopacket.Payload(slices.Concat(parts, segments, udp)))
}

// icmpError is an ICMP error with its first eight bytes, about what is quoted.
func icmpError(e *layers.Ethernet, src, dst netip.Addr, head, quoted []byte) []byte {
	message := append(slices.Clone(head), quoted...)
	if dst.Is4() {
		return icmp4(e, src, dst, message)
	}
	binary.BigEndian.PutUint16(message[2:], checksum6(src, dst, message))
	return build(e, internet(src, dst, layers.IPProtocolICMPv6), gopacket.Payload(message))
}

// connected opens a UDP socket of a namespace that is connected, so that it hears of
// errors. It says nothing: a true answer could be taken for the attack's.
func connected(t *testing.T, p world.Netns, from, to netip.Addr, port uint16) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	cell.Must(t, p.Do(func() (err error) {
		c, err = net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, port)), net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, port)))
		return err
	}))
	return c
}

// narrows watches whether the host comes to believe that the way to an address, with
// which it has a connection, carries less.
func narrows(to netip.Addr, size string) func(t *testing.T, s *scene) func() bool {
	return func(t *testing.T, s *scene) func() bool {
		c := connected(t, s.w.Host, hostAddr(to), to, hostPort)
		return func() bool {
			defer c.Close()
			return s.sees(func() bool { return strings.Contains(s.w.Host.Sh(t, "ip route get %s", to), size) })
		}
	}
}

// hostAddr is the host's address of that family.
func hostAddr(like netip.Addr) netip.Addr {
	if like.Is4() {
		return world.Host4
	}
	return world.Host6
}

func theHost(s *scene) world.Netns               { return s.w.Host }
func theVictim(s *scene) world.Netns             { return s.victim.Netns }
func fixed(a netip.Addr) func(*scene) netip.Addr { return func(*scene) netip.Addr { return a } }

// ends watches whether a namespace is told that nobody is at the other end of its connection.
func ends(ns func(s *scene) world.Netns, from, to func(s *scene) netip.Addr, port uint16) func(t *testing.T, s *scene) func() bool {
	return func(t *testing.T, s *scene) func() bool {
		c := connected(t, ns(s), from(s), to(s), port)
		return func() bool {
			defer c.Close()
			c.SetReadDeadline(time.Now().Add(s.limit()))
			_, err := c.Read(make([]byte, 64))
			return errors.Is(err, unix.ECONNREFUSED)
		}
	}
}

// told watches for the attack's ICMP messages at the host: one would do for success,
// and the control has all kinds arrive.
func told(protocol string, kinds []byte) func(t *testing.T, s *scene) func() bool {
	return func(t *testing.T, s *scene) func() bool {
		h := listenRaw(t, s.w.Host, protocol)
		return func() bool {
			defer h.Close()
			seen := map[byte]bool{}
			for h.SetReadDeadline(time.Now().Add(s.limit())); len(seen) < len(kinds); {
				b, err := h.next()
				if err != nil {
					break
				}
				if slices.Contains(kinds, b[0]) {
					seen[b[0]] = true
				}
			}
			return len(seen) == len(kinds) || !s.wanted && len(seen) > 0
		}
	}
}

// TestOwnErrors: errors about what was sent to a container pass, to the host, to a
// neighbour and to the outside.
func TestOwnErrors(t *testing.T) {
	for _, setting := range []string{"bridge", "routed", "overlay", isMacvlan, isIPvlan} {
		t.Run(setting, func(t *testing.T) {
			s := newScene(t, setting)
			for _, a := range s.victim.Addrs() {
				refused(t, s.w.Host, hostAddr(a), a)
				refused(t, s.witness.Netns, s.witness.Addr(a), a)
				if setting == "routed" || s.onLAN() { // elsewhere the outside reaches published ports only
					refused(t, s.w.Outside, map[bool]netip.Addr{true: world.Outside4, false: world.Outside6}[a.Is4()], a)
				}
			}
		})
	}
}

// refused fails the test unless a namespace hears that nobody listens at an address.
func refused(t *testing.T, from world.Netns, own, to netip.Addr) {
	t.Helper()
	c := connected(t, from, own, to, kinPort)
	defer c.Close()
	world.Soon(t, from.Name+" is told that nobody listens at "+to.String(), func() error {
		c.Write([]byte("hello"))
		c.SetReadDeadline(time.Now().Add(world.Refusal))
		if _, err := c.Read(make([]byte, 64)); !errors.Is(err, unix.ECONNREFUSED) {
			return fmt.Errorf("%v", err)
		}
		return nil
	})
}
