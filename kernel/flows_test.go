package kernel

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
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

// TestForgetShadows: of the connections that the kernel tracks, those of both families go that left the host by the port.
func TestForgetShadows(t *testing.T) {
	r := newRoom(t)
	addr := func(family netlink.InetFamily, last byte) net.IP {
		if family == unix.AF_INET {
			return net.IP{192, 0, 2, last}
		}
		return net.IP{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8, 15: last}
	}
	families := []netlink.InetFamily{unix.AF_INET, unix.AF_INET6}
	left := func() (ports []string) {
		cell.Must(t, r.k.home.Do(func() error {
			for _, family := range families {
				flows, err := netlink.ConntrackTableList(netlink.ConntrackTable, family)
				if err != nil {
					return err
				}
				for _, f := range flows {
					ports = append(ports, fmt.Sprint(family, " from ", f.Forward.SrcPort, " by ", f.Reverse.DstPort))
				}
			}
			return nil
		}))
		slices.Sort(ports)
		return ports
	}
	cell.Must(t, r.k.home.Do(func() error {
		for _, family := range families {
			for from, by := range map[uint16]uint16{1000: 8080, 1001: 8081, 8080: 1002} { // the host's port; another; the container's own
				c := &netlink.ConntrackFlow{FamilyType: uint8(family), TimeOut: 600}
				c.Forward = netlink.IPTuple{SrcIP: addr(family, 9), DstIP: addr(family, 2), SrcPort: from, DstPort: 53, Protocol: unix.IPPROTO_UDP}
				c.Reverse = netlink.IPTuple{SrcIP: addr(family, 2), DstIP: addr(family, 1), SrcPort: 53, DstPort: by, Protocol: unix.IPPROTO_UDP}
				if err := netlink.ConntrackCreate(netlink.ConntrackTable, family, c); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	cell.Must(t, r.k.ForgetShadows([]heddle.Socket{{Protocol: "tcp", Port: 8080}}))
	if got := left(); len(got) != 6 {
		t.Errorf("another protocol's went: %v are left", got)
	}
	cell.Must(t, r.k.ForgetShadows([]heddle.Socket{{Protocol: "udp", Port: 8080}}))
	if got, want := left(), []string{"10 from 1001 by 8081", "10 from 8080 by 1002", "2 from 1001 by 8081", "2 from 8080 by 1002"}; !slices.Equal(got, want) {
		t.Errorf("%v are left, want %v", got, want)
	}
}

// TestEndsIn: a flow is of a prefix with any of its ends, unless a longer prefix that stays has that end.
func TestEndsIn(t *testing.T) {
	e := endsIn{of: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("192.168.50.128/25")},
		stay: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.168.50.0/24")}}
	for _, c := range []struct {
		asks, asked, answers, answered string
		forgettable                    bool
	}{
		{"10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.1", false},
		{"10.0.0.1", "203.0.113.7", "203.0.113.7", "10.0.0.1", true},
		{"203.0.113.7", "10.0.0.1", "10.0.0.1", "203.0.113.7", true},
		{"10.0.0.1", "10.0.0.2", "203.0.113.7", "10.0.0.1", true}, // translated
		{"10.0.0.1", "10.0.0.2", "10.0.0.2", "203.0.113.7", true},
		{"10.0.0.1", "192.168.50.7", "192.168.50.7", "10.0.0.1", false},
		{"10.0.0.1", "192.168.50.200", "192.168.50.200", "10.0.0.1", true},
		{"fd00::1", "fd50::7", "fd50::7", "fd00::1", false}, // another family
	} {
		f := &netlink.ConntrackFlow{}
		f.Forward.SrcIP, f.Forward.DstIP = net.ParseIP(c.asks), net.ParseIP(c.asked)
		f.Reverse.SrcIP, f.Reverse.DstIP = net.ParseIP(c.answers), net.ParseIP(c.answered)
		if got := e.MatchConntrackFlow(f); got != c.forgettable {
			t.Errorf("%+v: forgotten %t", c, got)
		}
	}
}
