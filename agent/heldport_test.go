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
	req := heddle.AttachRequest{ID: heddle.EndpointID{Container: "no-such-word", IfName: "eth0"}}
	if heldFor(req, p) {
		t.Error("held by nobody that is named")
	}
	byUs := req
	byUs.Holders = []int{1, os.Getpid()}
	if !heldFor(byUs, p) {
		t.Error("not held by this process, which is named")
	}
	if byUs.ID.Container = os.Args[0]; !heldFor(byUs, p) {
		t.Error("not held by this process, which has the name in its command line")
	}
	for address, listening := range map[string]int{"": 2, "127.0.0.1": 1, "127.0.0.3": 0, "::1": 0} {
		p.HostIP, _ = netip.ParseAddr(address)
		if got := listeners(p); len(got) != listening {
			t.Errorf("%q: %v, want %d", address, got, listening)
		}
	}
}

// TestInTheWay: which sockets keep others from an address.
func TestInTheWay(t *testing.T) {
	for _, c := range []struct {
		of, socket string
		want       bool
	}{
		{"", "127.0.0.1", true}, {"127.0.0.1", "127.0.0.1", true}, {"127.0.0.1", "127.0.0.2", false}, {"127.0.0.1", "0.0.0.0", true},
		{"127.0.0.1", "::", true}, {"::1", "0.0.0.0", false}, {"::1", "::", true}, {"::1", "fd00::1", false},
	} {
		of, _ := netip.ParseAddr(c.of)
		if got := inTheWay(of, netip.MustParseAddr(c.socket)); got != c.want {
			t.Errorf("%s, %s: %v", c.of, c.socket, got)
		}
	}
	if got := tableAddress("B80D01200000000067452301EFCDAB89"); got != netip.MustParseAddr("2001:db8::123:4567:89ab:cdef") {
		t.Error(got)
	}
	if got := tableAddress("0100007F"); got != netip.MustParseAddr("127.0.0.1") {
		t.Error(got)
	}
}
