package attack_test

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/world"
)

// The first host's own rules translate what is sent to these ports of the host's: to the remote
// container, and to the sealed one.
const (
	remotePort = 30081
	sealedPort = 30082
)

// translate writes these rules.
func (s *spanScene) translate(t *testing.T) {
	t.Helper()
	for hook, priority := range map[string]string{"prerouting": "dstnat", "output": "-100"} {
		s.first.Sh(t, "nft 'add table inet service; add chain inet service %s { type nat hook %[1]s priority %s; }'", hook, priority)
		for port, p := range map[int]*span.Pod{remotePort: s.remote, sealedPort: s.sealed} {
			for i, f := range heddle.Families() {
				s.first.Sh(t, "nft add rule inet service %s fib daddr type local udp dport %d dnat %s to %s", hook, port, f.Word(), p.Addrs()[i])
			}
		}
	}
}

// translatedAttacks try what is open for packets that the host translates.
func translatedAttacks() []spanAttack {
	remote := func(s *spanScene) *span.Pod { return s.remote }
	return []spanAttack{
		{name: "another engine's container to a container of another host", reason: "isolated", watch: atPod(remote), frames: func(s *spanScene) (world.Netns, [][]byte) {
			e := ether(strangerMAC, s.engineMAC, kindOf(s.of(s.remote)))
			return s.engine, [][]byte{datagram(e, s.inEngine(), s.of(s.remote))}
		}},
		{name: "another engine's container with an error about a translated connection", reason: "isolated", watch: atPod(remote), act: func(t *testing.T, s *spanScene) {
			from, to := s.outside(), s.first.Underlays()[s.inner]
			s.LAN.Send(t, "br0", s.toPort(from, remotePort, "a connection"))
			world.Soon(t, "the host tracks the connection", func() error {
				if len(s.first.Tracked(t, from, to)) == 0 {
					return errors.New("it does not yet")
				}
				return nil
			})
			head := [][]byte{tooBig4, tooBig6}[s.inner]
			s.engine.Send(t, "eth0", icmpError(ether(strangerMAC, s.engineMAC, kindOf(to)), s.inEngine(), to, head, quote(to, from, remotePort)))
		}},
		{name: "a translated connection into an internal network", reason: "isolated", watch: atPod(func(s *spanScene) *span.Pod { return s.sealed }),
			frames: func(s *spanScene) (world.Netns, [][]byte) {
				return s.LAN, [][]byte{s.toPort(s.outside(), sealedPort, mark)}
			}},
		{name: "a peer past the translation of the host's own call", reason: "isolated", watch: callHears, frames: func(s *spanScene) (world.Netns, [][]byte) {
			to := s.first.Underlays()[s.inner]
			e := ether(s.second.Record.TunnelMAC(), s.first.Record.TunnelMAC(), kindOf(to))
			answer := build(append([]gopacket.SerializableLayer{e}, between(s.of(s.remote), to, remotePort, callPort, []byte(mark))...)...)
			return s.second.Netns, [][]byte{s.fromPeer(vxlan(span.VNI, answer))}
		}},
	}
}

// callPort is the port from which a process of the first host calls the remote container, by the
// host's rules.
const callPort = 30083

// callHears makes that call, and watches whether the socket hears what is marked.
func callHears(t *testing.T, s *spanScene) func() bool {
	t.Helper()
	at := s.first.Underlays()[s.inner]
	var call *net.UDPConn
	err := s.first.Do(func() (err error) {
		call, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, callPort)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.WriteToUDPAddrPort([]byte("a call"), netip.AddrPortFrom(at, remotePort)); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		defer call.Close()
		call.SetReadDeadline(time.Now().Add(s.limit()))
		b := make([]byte, 2048)
		for {
			n, _, err := call.ReadFromUDPAddrPort(b)
			if err != nil {
				return false
			}
			if strings.Contains(string(b[:n]), mark) {
				return true
			}
		}
	}
}

// outside is the LAN's address of the inner family, inEngine that of the other engine's container.
func (s *spanScene) outside() netip.Addr { return []netip.Addr{span.LAN4, span.LAN6}[s.inner] }

func (s *spanScene) inEngine() netip.Addr {
	return []netip.Addr{netip.MustParseAddr("172.31.0.2"), netip.MustParseAddr("fd31::2")}[s.inner]
}

// toPort is a datagram from the LAN to a port of the first host.
func (s *spanScene) toPort(from netip.Addr, port uint16, payload string) []byte {
	to := s.first.Underlays()[s.inner]
	e := ether(s.macWire, s.mac, kindOf(to))
	return build(append([]gopacket.SerializableLayer{e}, between(from, to, port, port, []byte(payload))...)...)
}
