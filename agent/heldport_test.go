package agent

import (
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestHeldPorts: a port is held for a container by who has its ID in the command line, or whom the
// request names; a socket on another address is not in the way.
func TestHeldPorts(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := heddle.PortMapping{HostPort: uint16(l.Addr().(*net.TCPAddr).Port), ContainerPort: 80, Protocol: "tcp"}
	other, err := net.Listen("tcp4", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), p.HostPort).String())
	if err != nil {
		t.Skip("the same port of another address is taken: ", err)
	}
	defer other.Close()
	holds := func(id string, holders ...int) bool {
		h := heldSockets{req: heddle.AttachRequest{ID: heddle.EndpointID{Container: id, IfName: "eth0"}, Holders: holders}}
		return h.holds(p)
	}
	if holds("no-such-word") {
		t.Error("held by nobody that is named")
	}
	if !holds("no-such-word", 1, os.Getpid()) {
		t.Error("not held by this process, which is named")
	}
	if !holds(os.Args[0]) {
		t.Error("not held by this process, which has the name in its command line")
	}
	for address, want := range map[string]bool{"": true, "0.0.0.0": true, "127.0.0.1": true, "127.0.0.3": false, "::1": false} {
		p.HostIP, _ = netip.ParseAddr(address)
		if got := holds(os.Args[0]); got != want {
			t.Errorf("%q: held %t", address, got)
		}
	}
}

// TestSocketAddress: which addresses of the host a socket takes.
func TestSocketAddress(t *testing.T) {
	for _, c := range []struct {
		mapping, socket string
		want            bool
	}{
		{"", "127.0.0.1", true}, {"127.0.0.1", "127.0.0.1", true}, {"127.0.0.1", "127.0.0.2", false}, {"127.0.0.1", "0.0.0.0", true},
		{"0.0.0.0", "127.0.0.1", true}, {"127.0.0.1", "::", true}, {"0.0.0.0", "::", true}, {"127.0.0.1", "::ffff:127.0.0.1", true},
		{"::1", "0.0.0.0", false}, {"::1", "::", true}, {"::", "::1", true}, {"::1", "fd00::1", false},
	} {
		mapping, _ := netip.ParseAddr(c.mapping)
		if got := shareAddress(mapping, socketAddress(netip.MustParseAddr(c.socket), false)); got != c.want {
			t.Errorf("%s, %s: %v", c.mapping, c.socket, got)
		}
	}
	if all := netip.IPv6Unspecified(); shareAddress(netip.IPv4Unspecified(), socketAddress(all, true)) || !shareAddress(all, socketAddress(all, true)) {
		t.Error("a socket for IPv6 alone")
	}
	if got := tableAddress("B80D01200000000067452301EFCDAB89"); got != netip.MustParseAddr("2001:db8::123:4567:89ab:cdef") {
		t.Error(got)
	}
	if got := tableAddress("0100007F"); got != netip.MustParseAddr("127.0.0.1") {
		t.Error(got)
	}
}
