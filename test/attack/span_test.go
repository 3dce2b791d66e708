package attack_test

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/world"
)

// spanScene is two hosts that share three networks, one of them internal. The victim,
// the attacker and one of the other network are on the first host, whose guard is
// tried.
type spanScene struct {
	eye
	*span.Cluster
	net, other, internal    heddle.Network
	attacker, victim        *span.Pod
	remote, stranger        *span.Pod
	sealed                  *span.Pod  // on the second host, of the internal network
	third                   netip.Addr // of a host that is away
	engine                  world.Netns
	first, second           *span.Host
	mac, macSecond, macWire heddle.MAC
	engineMAC               heddle.MAC
	// inner is the index of the inner family's addresses: 0 is IPv4's.
	inner int
	heard atomic.Int64
}

func newSpanScene(t *testing.T, f heddle.Family) *spanScene {
	t.Helper()
	s := &spanScene{Cluster: span.New(t, f)}
	s.first, s.second = s.Hosts[0], s.Hosts[1]
	s.third = s.ThirdHost().Underlay[0]
	s.net, s.other = s.Network(t, 1, nil), s.Network(t, 2, nil)
	s.internal = s.Network(t, 3, func(n *heddle.Network) { n.Internal = true })
	at := func(host, i int) func(netip.Prefix) netip.Addr {
		return func(p netip.Prefix) netip.Addr { return span.Addr(p, host, i) }
	}
	s.attacker, s.victim = s.Pod(t, "attacker", 0, s.net, at(0, 0)), s.Pod(t, "victim", 0, s.net, at(0, 1))
	s.remote, s.stranger = s.Pod(t, "remote", 1, s.net, at(1, 0)), s.Pod(t, "stranger", 0, s.other, at(0, 0))
	s.sealed = s.Pod(t, "sealed", 1, s.internal, at(1, 0))
	s.second.Sh(t, "ip address add %s dev eth0 nodad", s.elsewhere())
	s.mac, s.macSecond, s.macWire = hardware(t, s.first.Netns, "eth0"), hardware(t, s.second.Netns, "eth0"), hardware(t, s.LAN, "br0")
	s.addEngine(t)
	s.translate(t)
	s.listen(t)
	s.attacker.Reaches(t, append(s.remote.Addrs(), s.victim.Addrs()...)...)
	return s
}

// addEngine gives the first host a container of another engine, which that one
// masquerades.
func (s *spanScene) addEngine(t *testing.T) {
	s.engine = world.NewNetns(t, "engine")
	s.first.Sh(t, `ip link add docker0 type veth peer name eth0 netns engine; ip link set docker0 up
		ip address add 172.31.0.1/24 dev docker0; ip address add fd31::1/64 dev docker0 nodad
		nft 'add table inet engine; add chain inet engine post { type nat hook postrouting priority srcnat; }
			add rule inet engine post iifname docker0 masquerade'`)
	s.engine.Sh(t, `ip link set eth0 up; ip address add 172.31.0.2/24 dev eth0; ip address add fd31::2/64 dev eth0 nodad
		ip route add default via 172.31.0.1; ip -6 route add default via fd31::1`)
	for _, a := range s.second.Underlays() { // once both ends carry packets
		world.Soon(t, "the engine's container reaches the second host", func() error { return s.engine.Ping(a, "-W1") })
	}
	s.engineMAC = hardware(t, s.first.Netns, "docker0")
}

func hardware(t *testing.T, p world.Netns, link string) heddle.MAC {
	t.Helper()
	_, rest, _ := strings.Cut(p.Sh(t, "ip -o link show dev %s", link), "link/ether ")
	return heddle.MAC(strings.Fields(rest)[0])
}

// listen counts what a service of the first host, at all its addresses, is told.
func (s *spanScene) listen(t *testing.T) {
	t.Helper()
	for _, at := range []string{"0.0.0.0", "::"} {
		network := map[bool]string{true: "udp4", false: "udp6"}[at == "0.0.0.0"]
		err := s.first.Do(func() error {
			c, err := net.ListenUDP(network, &net.UDPAddr{IP: net.ParseIP(at), Port: loopPort})
			if err != nil {
				return err
			}
			t.Cleanup(func() { c.Close() })
			go func() {
				b := make([]byte, 2048)
				for {
					n, err := c.Read(b)
					if err != nil {
						return
					}
					if strings.Contains(string(b[:n]), mark) {
						s.heard.Add(1)
					}
				}
			}()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// of is an address of a container of the inner family.
func (s *spanScene) of(p *span.Pod) netip.Addr { return p.Addrs()[s.inner] }

// frame is what a tunnel to the first host carries: an Ethernet frame with the
// marked datagram.
func (s *spanScene) frame(src, dst netip.Addr) []byte {
	return datagram(ether(s.second.Record.TunnelMAC(), s.first.Record.TunnelMAC(), kindOf(src)), src, dst)
}

// vxlan puts a header before an inner frame (RFC 7348, section 5).
func vxlan(vni uint32, inner []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{8, 0, 0, 0}, vni<<8), inner...)
}

// fromPeer is a packet of the second host's tunnel, fromWire one of a machine on
// the underlay that is no host.
func (s *spanScene) fromPeer(payload []byte) []byte {
	return s.outer(ether(s.macSecond, s.mac, kindOf(s.first.Outer())), s.second.Outer(), s.first.Outer(), payload)
}

func (s *spanScene) fromWire(payload []byte) []byte {
	return s.outer(ether(s.macWire, s.mac, kindOf(s.first.Outer())), s.like(span.LAN4, span.LAN6), s.first.Outer(), payload)
}

// like picks the address of the underlay's family.
func (s *spanScene) like(v4, v6 netip.Addr) netip.Addr {
	if s.first.Outer().Is4() {
		return v4
	}
	return v6
}

// fromPod is VXLAN that a container sends by way of its gateway.
func (s *spanScene) fromPod(p *span.Pod, src, dst netip.Addr, payload []byte) []byte {
	return s.outer(ether(p.Endpoint.MAC, p.Endpoint.ID.PortMAC(), kindOf(dst)), src, dst, payload)
}

// ownOuter is a container's address of the underlay's family.
func (s *spanScene) ownOuter(p *span.Pod) netip.Addr { return s.like(p.Addrs()[0], p.Addrs()[1]) }

func (s *spanScene) guarded(t *testing.T, a spanAttack) {
	guard := s.Hosts[a.guardian]
	before := guard.Drops(t)
	sent, succeeded := s.mount(t, a)
	if succeeded {
		t.Error("the attack succeeded")
	}
	counted := func() bool { return guard.Drops(t)[a.reason]-before[a.reason] >= sent }
	if a.reason != "" && !within(world.Patience, counted) {
		t.Errorf("want %d packets counted as %s; before %v, after %v", sent, a.reason, before, guard.Drops(t))
	}
}

func (s *spanScene) control(t *testing.T, a spanAttack) {
	if a.certain != "" {
		t.Log("no control: " + a.certain)
		return
	}
	if !s.wins(func() bool { _, succeeded := s.mount(t, a); return succeeded }) {
		t.Error("the attack fails without the guard too: it proves nothing")
	}
}

func (s *spanScene) mount(t *testing.T, a spanAttack) (sent uint64, succeeded bool) {
	t.Helper()
	came := a.watch(t, s)
	if a.act != nil {
		a.act(t, s)
		return 1, came()
	}
	from, frames := a.frames(s)
	link := "eth0"
	if from == s.LAN {
		link = "br0"
	}
	from.Send(t, link, frames...)
	sent = uint64(len(frames))
	if a.counted != 0 {
		sent = a.counted
	}
	return sent, came()
}

// unguardedSpan takes the guard of the tunnels away, and of the ways through.
const unguardedSpan = `for c in tunnel-in tunnel-forward tunnel-leaving guard-tunnel guard guard-port guard-icmp guard-host input forward; do nft flush chain inet heddle $c; done`

// TestSpanAttacks runs the attacks on networks that span hosts over both families,
// with both families inside, first against the guard, then without it.
func TestSpanAttacks(t *testing.T) {
	cell.Need(t)
	for _, f := range heddle.Families() {
		t.Run("over "+f.String(), func(t *testing.T) {
			s := newSpanScene(t, f)
			ran := tally{}
			counted := func(t *testing.T, a spanAttack) {
				s.guarded(t, a)
				ran.did(a.name, "overlay")
			}
			s.each(t, "guarded", spanAttacks(), counted)
			for _, a := range spanAttacks() {
				ran.complete(t, a.listing())
			}
			for _, h := range s.Hosts {
				h.FastPath(t, false)
			}
			s.each(t, "guarded, without the fast path", localAttacks(), s.guarded)
			s.attacker.Reaches(t, s.remote.Addrs()...)
			s.first.Sh(t, unguardedSpan)
			// who takes in what a user's port sends is the second host
			s.second.Sh(t, "nft flush chain inet heddle tunnel-in")
			s.each(t, "control", spanAttacks(), s.control)
		})
	}
}

func (s *spanScene) each(t *testing.T, how string, all []spanAttack, run func(*testing.T, spanAttack)) {
	for inner, name := range []string{"IPv4 inside", "IPv6 inside"} {
		s.inner = inner
		for _, a := range all {
			if a.only4 && inner != 0 {
				continue
			}
			t.Run(how+"/"+name+"/"+a.name, func(t *testing.T) { run(t, a) })
		}
	}
}
