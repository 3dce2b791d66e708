package attack_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/path"
	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/world"
)

// privileged is a source port that only the privileged may bind: one of those that
// tunnels send from.
const privileged = 600

// localAttacks come from processes on the first host, which write what its tunnel
// would, with sockets of their own.
func localAttacks() []spanAttack {
	remote := func(s *spanScene) *span.Pod { return s.remote }
	sealed := func(s *spanScene) *span.Pod { return s.sealed }
	to := func(p func(s *spanScene) *span.Pod) func(s *spanScene) []byte {
		return func(s *spanScene) []byte { return vxlan(span.VNI, s.backTo(p(s))) }
	}
	peer := func(s *spanScene) netip.Addr { return s.second.Outer() }
	local := func(name string, act func(t *testing.T, s *spanScene), at func(s *spanScene) *span.Pod) spanAttack {
		return spanAttack{name: name, reason: "tunnel", act: act, watch: atPod(at)}
	}
	return []spanAttack{
		local("a user's process", func(t *testing.T, s *spanScene) { s.nobody(t, peer(s), to(remote)(s)) }, remote),
		local("a user's process, into an internal network", func(t *testing.T, s *spanScene) { s.nobody(t, peer(s), to(sealed)(s)) }, sealed),
		local("a user's process, to another address of the peer", func(t *testing.T, s *spanScene) { s.nobody(t, s.elsewhere(), to(remote)(s)) }, remote),
		local("a process that may use the tunnels' source ports", func(t *testing.T, s *spanScene) { s.service(t, peer(s), 0, to(remote)(s)) }, remote),
		// The kernel cuts it up behind the firewall, which sees the first header only
		// (UDP_SEGMENT, udp(7)): that of another network.
		local("a process that hides a tunnel's packet behind another", func(t *testing.T, s *spanScene) {
			second := to(remote)(s)
			first := vxlan(span.VNI+1, s.backTo(s.remote))
			s.service(t, peer(s), len(first), append(first, second...))
		}, remote),
	}
}

// engineAttacks come from a container of another engine on the first host, which
// may bind any port of its own.
func engineAttacks() []spanAttack {
	frame := func(s *spanScene, src, dst netip.Addr) (world.Netns, [][]byte) {
		e := ether(strangerMAC, s.engineMAC, kindOf(src))
		return s.engine, [][]byte{s.outer(e, src, dst, vxlan(span.VNI, s.back()))}
	}
	own := func(s *spanScene) netip.Addr {
		return s.like(netip.MustParseAddr("172.31.0.2"), netip.MustParseAddr("fd31::2"))
	}
	return []spanAttack{
		{name: "another engine's container, to another address of the peer", reason: "tunnel", watch: inDevice(1), frames: func(s *spanScene) (world.Netns, [][]byte) {
			return frame(s, own(s), s.elsewhere())
		}},
		{name: "another engine's container as a peer, to a peer", reason: "tunnel", watch: leaving, frames: func(s *spanScene) (world.Netns, [][]byte) {
			return frame(s, s.third, s.second.Outer())
		}},
	}
}

// leaving watches for the mark on the first host's way to the underlay.
func leaving(t *testing.T, s *spanScene) func() bool {
	c := s.first.Capture(t, "eth0")
	return func() bool {
		return s.saw(c, func(f world.Frame) bool { return f.Out && world.Contains(mark)(f) })
	}
}

// userPort is VXLAN of a peer from a port that everybody may use.
func userPort() spanAttack {
	return spanAttack{name: "a peer's VXLAN from a user's port", reason: "spoofed-peer", watch: spanVictim, frames: func(s *spanScene) (world.Netns, [][]byte) {
		payload := vxlan(span.VNI, s.frame(s.of(s.remote), s.of(s.victim)))
		return s.second.Netns, [][]byte{s.outerFrom(ether(s.macSecond, s.mac, kindOf(s.first.Outer())), s.second.Outer(), s.first.Outer(), 33333, payload)}
	}}
}

// elsewhere is an address of the second host where no tunnel ends.
func (s *spanScene) elsewhere() netip.Addr {
	return s.like(netip.MustParseAddr("192.0.2.99"), netip.MustParseAddr("2001:db8::99"))
}

// nobody sends a datagram to a tunnel's port as a process without any privilege.
func (s *spanScene) nobody(t *testing.T, to netip.Addr, payload []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "payload")
	if err := os.WriteFile(file, payload, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := s.first.TrySh(`setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
		bash -c 'cat > /dev/udp/%s/%d' < %s`, to, path.Default().Port(), file)
	if err != nil && !strings.Contains(out, "Operation not permitted") {
		t.Fatal(err, out)
	}
}

// service sends one from a privileged port, as a host-mode container's root can; in
// segments of so many bytes, if not 0.
func (s *spanScene) service(t *testing.T, to netip.Addr, segment int, payload []byte) {
	t.Helper()
	err := s.first.Do(func() error {
		c, err := net.DialUDP("udp", &net.UDPAddr{Port: privileged}, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, path.Default().Port())))
		if err != nil {
			return err
		}
		defer c.Close()
		raw, err := c.SyscallConn()
		if err != nil {
			return err
		}
		var refused error
		raw.Control(func(fd uintptr) { refused = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, segment) })
		if refused != nil {
			return refused
		}
		_, err = c.Write(payload)
		return err
	})
	if err != nil && !errors.Is(err, unix.EPERM) { // which is the firewall's answer
		t.Fatal(err)
	}
}
