package overlay_test

import (
	"net/netip"
	"sync"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/world"
)

// TestServices: behind a service of kube-proxy's, a container is reached from everywhere, whichever
// host translates and whichever host has the container.
func TestServices(t *testing.T) {
	underlays(t, func(t *testing.T, c *span.Cluster) {
		n, two := c.Network(t, 1, nil), c.Network(t, 2, nil)
		a, near, far := c.Pod(t, "a", 0, n, at(0, 0)), c.Pod(t, "near", 0, n, at(0, 1)), c.Pod(t, "far", 1, n, at(1, 0))
		other, engine := c.Pod(t, "other", 0, two, at(0, 0)), addEngine(t, c.Hosts[0])
		inner := c.Network(t, 3, func(n *heddle.Network) { n.Internal = true })
		sealed := c.Pod(t, "sealed", 0, inner, at(0, 0))
		sealed.Sh(t, "ip route add default via %s; ip -6 route add default via %s", inner.Gateways[0], inner.Gateways[1])
		for _, p := range []*span.Pod{near, far} {
			p.Serve(t, 7000, p.Addrs()...)
		}
		for _, by := range span.Proxies {
			for _, backend := range []*span.Pod{far, near} {
				t.Run(by+"/"+backend.Name, func(t *testing.T) {
					for _, h := range c.Hosts {
						h.Proxy(t, by, backend, n)
						defer h.NoProxy(t)
						h.ForgetFlows(t) // a question from the same port would go to the last one
					}
					var calls sync.WaitGroup
					gets := func(from world.Netns, port uint16, at ...netip.Addr) {
						calls.Go(func() { from.Gets(t, backend.Name, port, at...) })
					}
					for _, from := range []world.Netns{c.LAN, c.Hosts[0].Netns, c.Hosts[1].Netns, a.Netns, near.Netns, far.Netns, other.Netns, engine} {
						if from != c.LAN {
							gets(from, span.ServicePort, span.ServiceAddrs...)
						}
						for _, h := range c.Hosts {
							gets(from, span.NodePort, h.Underlays()...)
						}
					}
					if by == "iptables" {
						gets(c.Hosts[0].Netns, span.NodePort, netip.MustParseAddr("127.0.0.1"))
					}
					calls.Go(func() { sealed.GetsNothing(t, span.ServicePort, span.ServiceAddrs...) })
					calls.Wait()
				})
			}
		}
	})
}

// addEngine gives a host a container of another engine.
func addEngine(t *testing.T, h *span.Host) world.Netns {
	engine := world.NewNetns(t, "engine")
	h.Sh(t, `ip link add docker0 type bridge; ip link set docker0 up; ip address add 172.17.0.1/16 dev docker0; ip address add fd17::1/64 dev docker0 nodad
		ip link add veth0 master docker0 type veth peer name eth0 netns engine; ip link set veth0 up
		nft 'add table inet engine; add chain inet engine post { type nat hook postrouting priority srcnat; }
			add rule inet engine post ip saddr 172.17.0.0/16 oifname != docker0 masquerade; add rule inet engine post ip6 saddr fd17::/64 oifname != docker0 masquerade'`)
	engine.Sh(t, `ip link set eth0 up; ip address add 172.17.0.2/16 dev eth0; ip address add fd17::2/64 dev eth0 nodad
		ip route add default via 172.17.0.1; ip -6 route add default via fd17::1`)
	for _, a := range []netip.Addr{span.LAN4, span.LAN6} {
		world.Soon(t, "the engine's container reaches the LAN", func() error { return engine.Ping(a, "-W1") })
	}
	return engine
}
