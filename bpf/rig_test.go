package bpf_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
	"github.com/heddle-network/heddle/test/cell"
)

// What a program answers (linux/pkt_cls.h): TC_ACT_UNSPEC leaves the packet alone.
const (
	next     = -1
	shot     = 2
	redirect = 7
)

// rig is the programs with a host's worth of places, in the test's own namespace.
// No packet leaves it: the kernel runs a program on a packet and gives it back
// (BPF_PROG_TEST_RUN). Where a redirection leads to is not told.
type rig struct {
	*bpf.Fast
	model
}

// The rig's places: two routed endpoints, one of another network, two on a bridge, one on another bridge;
// a peer with a block, an address of its own out of our block, and a gateway; an address
// out of the peer's block that is left to the stack; a peer over IPv6 with a block.
var rigEndpoints = []struct {
	link, v4, v6 string
	group        uint32
	bridged      bool
}{
	{"porta", "10.1.0.2", "fd01::2", 1, false},
	{"portb", "10.1.0.3", "fd01::3", 1, false},
	{"portc", "10.2.0.2", "fd02::2", 2, false},
	{"portd", "10.3.0.2", "fd03::2", 3, true},
	{"porte", "10.3.0.3", "fd03::3", 3, true},
	{"portf", "10.5.0.2", "fd05::2", 5, true},
}

const (
	rigMTU  = 1450
	rigVNI  = 4711
	rigPort = 4789
)

var (
	local, remote, dark = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.9")
	local6, remote6     = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	remoteMAC           = heddle.MAC("0a:00:00:00:00:02")
	tunnelMAC           = heddle.MAC("0a:68:00:00:00:01")
	peerTunnelMAC       = heddle.MAC("0a:68:00:00:00:02")
)

func newRig(t *testing.T) *rig {
	t.Helper()
	cell.Need(t)
	f, err := bpf.Open(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r := &rig{f, model{places: map[netip.Prefix]heddle.Shortcut{}, remotes: map[netip.Addr]heddle.Remote{}, index: map[string]int{}}}
	links(t)
	r.wire = heddle.Wire{Local: local, Local6: local6, VNI: rigVNI, Port: rigPort, MAC: tunnelMAC}
	wire := r.find(t, "wire0")
	r.own, r.next = heddle.MAC(wire.HardwareAddr.String()), remoteMAC
	cell.Must(t, f.SetWire(r.wire))
	for _, addr := range []netip.Addr{remote, dark, remote6} {
		m := heddle.Remote{Addr: addr, Local: map[bool]netip.Addr{false: local, true: local6}[addr.Is6()], Link: "wire0", VNI: rigVNI, Port: rigPort, MAC: peerTunnelMAC, OwnMAC: tunnelMAC, MTU: rigMTU}
		r.remotes[addr] = m
		cell.Must(t, f.PutRemote(m, wire.Index))
	}
	r.alike = before64(t)
	r.furnish(t)
	return r
}

func (r *rig) furnish(t *testing.T) {
	t.Helper()
	for _, e := range rigEndpoints {
		at := r.find(t, e.link)
		for _, a := range []string{e.v4, e.v6} {
			bits := map[bool]int{true: 26, false: 122}[netip.MustParseAddr(a).Is4()]
			r.put(t, heddle.Shortcut{Prefix: heddle.Single(netip.MustParseAddr(a)), Group: e.group, Link: e.link, MAC: podMAC(e.link),
				PortMAC: heddle.MAC(at.HardwareAddr.String()), MTU: rigMTU, Bridged: e.bridged, BlockBits: bits})
		}
	}
	for _, p := range []string{"10.1.0.64/26", "fd01::40/122", "10.1.0.5/32", "fd01::5/128"} {
		r.put(t, heddle.Shortcut{Prefix: netip.MustParsePrefix(p), Group: 1, Peer: remote})
	}
	for _, p := range []string{"10.1.0.192/26", "fd01::c0/122"} {
		r.put(t, heddle.Shortcut{Prefix: netip.MustParsePrefix(p), Group: 1, Peer: remote6})
	}
	r.put(t, heddle.Shortcut{Prefix: netip.MustParsePrefix("10.1.0.128/26"), Group: 1, Peer: dark})
	for _, p := range []string{"10.1.0.1/32", "fd01::1/128", "10.1.0.72/32", "fd01::48/128"} {
		r.put(t, heddle.Shortcut{Prefix: netip.MustParsePrefix(p), Group: 1})
	}
}

// links makes the interfaces that the places name. The next hop of one peer is
// known, that of the other is not.
func links(t *testing.T) {
	t.Helper()
	cell.Sh(t, `sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
		for l in porta portb portc portd porte portf wire0; do
		ip link add $l type veth peer name ${l}x; ip link set $l up; ip link set ${l}x up; done
		ip address add %s/24 dev wire0; ip neighbour replace %s lladdr %s dev wire0 nud permanent
		ip address add %s/64 dev wire0 nodad; ip neighbour replace %s lladdr %[3]s dev wire0 nud permanent`, local, remote, remoteMAC, local6, remote6)
	t.Cleanup(func() { cell.TrySh("for l in porta portb portc portd porte portf wire0; do ip link del $l; done") })
}

func (r *rig) find(t *testing.T, link string) *net.Interface {
	t.Helper()
	l, err := net.InterfaceByName(link)
	cell.Must(t, err)
	r.index[link] = l.Index
	return l
}

func (r *rig) put(t *testing.T, s heddle.Shortcut) {
	t.Helper()
	r.places[s.Prefix] = s
	cell.Must(t, r.Put(s, r.index[s.Link]))
}

// before64 reports a kernel before Linux 6.4.
func before64(t *testing.T) bool {
	t.Helper()
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	cell.Must(t, err)
	var major, minor int
	if _, err := fmt.Sscanf(string(release), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major < 6 || major == 6 && minor < 4
}

// podMAC is that of the container behind a port.
func podMAC(link string) heddle.MAC { return heddle.MAC("0a:0b:0c:0d:0e:0" + link[4:]) }

// checksumComplete is BPF_F_TEST_SKB_CHECKSUM_COMPLETE (since Linux 6.17): the packet
// comes from a NIC that has summed all of it, and the kernel fails the run if that
// sum is wrong afterwards.
const checksumComplete = 4

// input is a packet for a program.
type input struct {
	wire  bool   // for from_wire; from_port otherwise
	link  string // where it arrives
	gso   int    // size of segments, if it is an aggregate
	flags uint32
	frame []byte
}

// run gives a packet to a program.
func (r *rig) run(in input) (code int, out []byte, err error) {
	// struct __sk_buff of linux/bpf.h; a test run takes few of its fields
	var ctx [192]byte
	binary.NativeEndian.PutUint32(ctx[40:], uint32(r.index[in.link]))
	binary.NativeEndian.PutUint32(ctx[176:], uint32(in.gso))
	p := r.Port()
	if in.wire {
		p = r.Wire()
	}
	o := ebpf.RunOptions{Data: in.frame, DataOut: make([]byte, len(in.frame)+256), Context: ctx[:], Flags: in.flags}
	got, err := p.Run(&o)
	return int(int32(got)), bytes.Clone(o.DataOut), err
}
