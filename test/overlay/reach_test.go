package overlay_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/world"
)

// at gives a host's i-th address of a subnet.
func at(host, i int) func(netip.Prefix) netip.Addr {
	return func(s netip.Prefix) netip.Addr { return span.Addr(s, host, i) }
}

// underlays runs a test over either family of the underlay.
func underlays(t *testing.T, run func(t *testing.T, c *span.Cluster)) {
	cell.Need(t)
	for _, f := range heddle.Families() {
		t.Run("over "+f.String(), func(t *testing.T) { run(t, span.New(t, f)) })
	}
}

// TestReach: containers reach each other on both hosts, by an address out of the
// other host's block too, and the gateway, both hosts and the outside; the hosts
// reach them; published ports are reached from everywhere.
func TestReach(t *testing.T) {
	underlays(t, func(t *testing.T, c *span.Cluster) {
		n := c.Network(t, 1, nil)
		a, b := c.Pod(t, "a", 0, n, at(0, 0)), c.Pod(t, "b", 0, n, at(0, 1), world.Mapping("8080:7000/tcp"), world.Mapping("8080:7000/udp"))
		far, lent := c.Pod(t, "far", 1, n, at(1, 0)), c.Pod(t, "lent", 1, n, span.Lent)
		pods := []*span.Pod{a, b, far, lent}
		for _, p := range pods {
			p.Serve(t, 7000, p.Addrs()...)
		}
		for _, from := range pods {
			for _, to := range pods {
				from.Reaches(t, to.Addrs()...)
				from.Gets(t, to.Name, 7000, to.Addrs()...)
			}
			from.Reaches(t, append(n.Gateways, span.LAN4, span.LAN6)...)
			for _, h := range c.Hosts {
				from.Reaches(t, h.Underlays()...)
				h.Gets(t, from.Name, 7000, from.Addrs()...)
			}
		}
		seen(t, c, n, far)
		for _, from := range []world.Netns{c.LAN, c.Hosts[0].Netns, c.Hosts[1].Netns, a.Netns, b.Netns, far.Netns} {
			from.Gets(t, "b", 8080, c.Hosts[0].Underlays()...)
		}
		a.Gets(t, "b", 8080, n.Gateways...)
		for _, to := range far.Addrs() {
			whole(t, a, to, a.Endpoint.MTU)
		}
	})
}

// TestBridgedUnderlay: the hosts' NICs are ports of a bridge, whose frames pass the
// IP firewall too, as on a machine with virtual machines and docker.
func TestBridgedUnderlay(t *testing.T) {
	underlays(t, func(t *testing.T, c *span.Cluster) {
		for i, h := range c.Hosts {
			if _, err := h.TrySh("test -e /proc/sys/net/bridge/bridge-nf-call-iptables"); err != nil {
				t.Skip("this kernel has no br_netfilter")
			}
			four, six := h.Underlays()[0], h.Underlays()[1]
			h.Sh(t, `sysctl -qw net.bridge.bridge-nf-call-iptables=1 net.bridge.bridge-nf-call-ip6tables=1
				ip link add under address 02:00:00:00:0b:0%d type bridge; ip address flush dev eth0; ip link set eth0 master under; ip link set under up
				ip address add %s/24 dev under; ip address add %s/64 dev under nodad
				ip route replace default via %s; ip -6 route replace default via %s`, i, four, six, span.LAN4, span.LAN6)
			world.Soon(t, h.Name+" is on the underlay", func() error { return h.Ping(span.LAN4, "-W1") })
			world.Soon(t, h.Name+" is on the underlay", func() error { return h.Ping(span.LAN6, "-W1") })
		}
		n := c.Network(t, 1, nil)
		a, b, far := c.Pod(t, "a", 0, n, at(0, 0)), c.Pod(t, "b", 0, n, at(0, 1), world.Mapping("8080:7000/tcp"), world.Mapping("8080:7000/udp")), c.Pod(t, "far", 1, n, at(1, 0))
		for _, p := range []*span.Pod{a, b, far} {
			p.Serve(t, 7000, p.Addrs()...)
		}
		for _, from := range []*span.Pod{a, b, far} {
			for _, to := range []*span.Pod{a, b, far} {
				from.Gets(t, to.Name, 7000, to.Addrs()...)
			}
			from.Reaches(t, span.LAN4, span.LAN6)
		}
		far.Gets(t, "b", 8080, c.Hosts[0].Underlays()...)
		for _, to := range far.Addrs() {
			whole(t, a, to, a.Endpoint.MTU)
		}
	})
}

// seen checks under which address a remote container sees host and container.
func seen(t *testing.T, c *span.Cluster, n heddle.Network, far *span.Pod) {
	t.Helper()
	for i, s := range n.Subnets {
		for _, proto := range []string{"tcp", "udp"} {
			got, err := c.Hosts[0].Ask(proto, netip.AddrPortFrom(far.Addrs()[i], 7000))
			if err != nil || got.Seen != span.Source(s, 0) {
				t.Errorf("%s: a remote container sees the host as %v (%v), want %s", proto, got.Seen, err, span.Source(s, 0))
			}
		}
	}
}

// whole pings with packets that fill the MTU, and cannot be larger.
func whole(t *testing.T, from *span.Pod, to netip.Addr, mtu int) {
	t.Helper()
	payload := mtu - map[bool]int{true: 28, false: 48}[to.Is4()]
	if err := from.Ping(to, "-M", "do", "-s", fmt.Sprint(payload)); err != nil {
		t.Error(err)
	}
	if from.Ping(to, "-M", "do", "-s", fmt.Sprint(payload+1)) == nil {
		t.Errorf("%d bytes reach %s, more than the MTU", mtu+1, to)
	}
}

// TestIsolation: networks are apart on all hosts until they are joined; an
// internal one spans hosts, and has no way out.
func TestIsolation(t *testing.T) {
	underlays(t, func(t *testing.T, c *span.Cluster) {
		one := c.Network(t, 1, nil)
		two := c.Network(t, 2, nil)
		inner := c.Network(t, 3, func(n *heddle.Network) { n.Internal = true })
		a, far := c.Pod(t, "a", 0, one, at(0, 0)), c.Pod(t, "far", 1, two, at(1, 0))
		in, in2 := c.Pod(t, "in", 0, inner, at(0, 0)), c.Pod(t, "in2", 1, inner, at(1, 0))
		in.Reaches(t, in2.Addrs()...)
		in.Silent(t, append(far.Addrs(), span.LAN4, span.LAN6)...)
		a.Silent(t, append(far.Addrs(), in2.Addrs()...)...)
		far.Silent(t, append(a.Addrs(), in.Addrs()...)...)
		c.Allow(t, one, two)
		a.Reaches(t, far.Addrs()...)
		far.Reaches(t, a.Addrs()...)
		a.Silent(t, in2.Addrs()...)
	})
}
