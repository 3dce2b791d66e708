package kernel

import (
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// TestFlowsOf: the forgotten flows are those that lead elsewhere than they would today.
func TestFlowsOf(t *testing.T) {
	e := heddle.Endpoint{Addrs: []netip.Prefix{netip.MustParsePrefix("10.20.0.9/24")}, Ports: []heddle.PortMapping{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}}
	hostsOwn := func(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.1") }
	for _, c := range []struct {
		asked, answers         string
		port, from             uint16
		protocol               uint8
		published, forgettable bool
	}{
		{"192.0.2.1", "10.20.0.9", 8080, 80, unix.IPPROTO_TCP, false, true},
		{"192.0.2.1", "10.20.0.9", 8080, 80, unix.IPPROTO_TCP, true, false}, // another endpoint has the port by now
		{"192.0.2.1", "10.20.0.8", 8080, 80, unix.IPPROTO_TCP, false, false},
		{"10.20.0.9", "10.20.0.9", 80, 80, unix.IPPROTO_TCP, false, false}, // sent to its own address
		{"192.0.2.1", "192.0.2.1", 8080, 8080, unix.IPPROTO_TCP, true, true},
		{"192.0.2.1", "192.0.2.1", 8080, 8080, unix.IPPROTO_UDP, true, false},
		{"192.0.2.2", "192.0.2.2", 8080, 8080, unix.IPPROTO_TCP, true, false}, // another machine's port
	} {
		f := &netlink.ConntrackFlow{}
		f.Forward.DstIP, f.Forward.DstPort, f.Forward.Protocol = net.ParseIP(c.asked).To4(), c.port, c.protocol
		f.Reverse.SrcIP, f.Reverse.SrcPort = net.ParseIP(c.answers).To4(), c.from
		published := func(p heddle.PortMapping, to netip.Addr) bool {
			return c.published && p == e.Ports[0] && to == e.Addrs[0].Addr()
		}
		if got := (flowsOf{e, published, hostsOwn}).MatchConntrackFlow(f); got != c.forgettable {
			t.Errorf("%+v: forgotten %t", c, got)
		}
	}
	// a container's connection that left the host by the port, before it was published
	f := &netlink.ConntrackFlow{}
	f.Forward = netlink.IPTuple{SrcIP: net.IPv4(10, 20, 0, 8), DstIP: net.IPv4(192, 0, 2, 2), SrcPort: 8080, DstPort: 443, Protocol: unix.IPPROTO_TCP}
	f.Reverse = netlink.IPTuple{SrcIP: net.IPv4(192, 0, 2, 2), DstIP: net.IPv4(192, 0, 2, 1), SrcPort: 443, DstPort: 8080, Protocol: unix.IPPROTO_TCP}
	none := func(heddle.PortMapping, netip.Addr) bool { return false }
	if !(flowsOf{e, none, hostsOwn}).MatchConntrackFlow(f) {
		t.Error("a masqueraded connection keeps a port that is published now")
	}
	f.Reverse.DstIP = f.Forward.SrcIP
	if (flowsOf{e, none, hostsOwn}).MatchConntrackFlow(f) {
		t.Error("a connection that is not masqueraded is forgotten for the port that it has")
	}
	// a port that is published at another address of the host
	e.Ports[0].HostIP = netip.MustParseAddr("127.0.0.1")
	f.Forward = netlink.IPTuple{SrcIP: net.IPv4(192, 0, 2, 2), DstIP: net.IPv4(192, 0, 2, 1), SrcPort: 4444, DstPort: 8080, Protocol: unix.IPPROTO_TCP}
	f.Reverse = netlink.IPTuple{SrcIP: f.Forward.DstIP, DstIP: f.Forward.SrcIP, SrcPort: 8080, DstPort: 4444, Protocol: unix.IPPROTO_TCP}
	if (flowsOf{e, none, hostsOwn}).MatchConntrackFlow(f) {
		t.Error("a connection to a port that is published at another address only is forgotten")
	}
}
