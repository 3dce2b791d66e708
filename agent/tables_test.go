package agent

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestCollide: a port on all addresses of one family does not collide with the same port of the
// other family.
func TestCollide(t *testing.T) {
	for _, c := range []struct {
		p, q string
		want bool
	}{
		{"", "", true}, {"", "0.0.0.0", true}, {"", "::1", true}, {"0.0.0.0", "192.0.2.1", true},
		{"::", "2001:db8::1", true},
		{"192.0.2.1", "192.0.2.1", true}, {"192.0.2.1", "192.0.2.2", false}, {"0.0.0.0", "::", false},
		{"0.0.0.0", "2001:db8::1", false}, {"::", "192.0.2.1", false},
	} {
		mapping := func(host string) heddle.PortMapping {
			m := heddle.PortMapping{HostPort: 80, ContainerPort: 80, Protocol: "tcp"}
			if host != "" {
				m.HostIP = netip.MustParseAddr(host)
			}
			return m
		}
		p, q := mapping(c.p), mapping(c.q)
		if collide(p, q) != c.want || collide(q, p) != c.want {
			t.Errorf("%s and %s: want %t", p, q, c.want)
		}
		q.Protocol = "udp"
		if collide(p, q) {
			t.Errorf("%s and %s", p, q)
		}
	}
}
