package overlay_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel/coexist"
	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/world"
)

// TestUntracked: what containers of one network send each other is tracked on no
// host, whole or in fragments; what they send a gateway or another network is.
func TestUntracked(t *testing.T) {
	underlays(t, func(t *testing.T, c *span.Cluster) {
		one, two := c.Network(t, 1, nil), c.Network(t, 2, nil)
		a, b := c.Pod(t, "a", 0, one, at(0, 0)), c.Pod(t, "b", 0, one, at(0, 1))
		far, lent := c.Pod(t, "far", 1, one, at(1, 0)), c.Pod(t, "lent", 1, one, span.Lent)
		next, nextFar := c.Pod(t, "next", 0, two, at(0, 0)), c.Pod(t, "nextFar", 1, two, at(1, 0))
		c.Allow(t, one, two)
		own := []*span.Pod{a, b, far, lent}
		for _, p := range append(own, next, nextFar) {
			p.Serve(t, 7000, p.Addrs()...)
		}
		for _, h := range c.Hosts {
			h.ForgetFlows(t)
		}
		for _, from := range own {
			for _, to := range own {
				if from == to {
					continue
				}
				from.Gets(t, to.Name, 7000, to.Addrs()...)
				for i, addr := range to.Addrs() {
					if err := from.Ping(addr, "-s", "6000"); err != nil {
						t.Errorf("fragments from %s to %s: %v", from.Name, to.Name, err)
					}
					for _, h := range c.Hosts {
						if flows := h.Tracked(t, from.Addrs()[i], addr); len(flows) > 0 {
							t.Errorf("%s tracks %v", h.Name, flows)
						}
					}
				}
			}
		}
		a.Reaches(t, one.Gateways...)
		a.Gets(t, "next", 7000, next.Addrs()...)
		a.Gets(t, "nextFar", 7000, nextFar.Addrs()...)
		for i, addr := range a.Addrs() {
			for h, to := range map[*span.Host][]netip.Addr{c.Hosts[0]: {one.Gateways[i], next.Addrs()[i], nextFar.Addrs()[i]}, c.Hosts[1]: {nextFar.Addrs()[i]}} {
				for _, to := range to {
					if len(h.Tracked(t, addr, to)) == 0 {
						t.Errorf("%s does not track %s to %s", h.Name, addr, to)
					}
				}
			}
		}
	})
}

// TestHostIsTracked: between a host and containers, here and there, the host
// tracks what it sends and gets, and knows answers for what they are.
func TestHostIsTracked(t *testing.T) {
	underlays(t, func(t *testing.T, c *span.Cluster) {
		n := c.Network(t, 1, nil)
		a, far := c.Pod(t, "a", 0, n, at(0, 0)), c.Pod(t, "far", 1, n, at(1, 0))
		far.Serve(t, 7000, far.Addrs()...)
		a.Serve(t, 7000, a.Addrs()...)
		host := c.Hosts[0]
		host.Sh(t, `nft 'add table inet strict; add chain inet strict in { type filter hook input priority 10; }
			add rule inet strict in iifname { "hd*", "hv*" } meta l4proto { tcp, udp } ct state { new, invalid, untracked } drop'`)
		host.ForgetFlows(t)
		c.Hosts[1].ForgetFlows(t)
		host.Gets(t, "far", 7000, far.Addrs()...)
		host.Gets(t, "a", 7000, a.Addrs()...)
		for i, s := range n.Subnets {
			if len(host.Tracked(t, span.Source(s, 0), far.Addrs()[i])) == 0 {
				t.Errorf("the host does not track what it sends to %s", far.Addrs()[i])
			}
			if flows := c.Hosts[1].Tracked(t, span.Source(s, 0), far.Addrs()[i]); len(flows) > 0 {
				t.Errorf("the other host tracks %v", flows)
			}
		}
	})
}

// service is how others translate addresses on a host, such as kube-proxy: what is
// sent to an address outside all networks goes to a container instead.
const service = `nft 'add table inet service; flush table inet service; add chain inet service pre { type nat hook prerouting priority dstnat; }
	add rule inet service pre ip daddr 203.0.113.7 dnat ip to %s; add rule inet service pre ip6 daddr 2001:db8:7::7 dnat ip6 to %s'`

// TestTranslated: containers of the network behind others' service addresses, and
// behind our published ports, are reached from the same network as from elsewhere;
// over a path that carries less, too.
func TestTranslated(t *testing.T) {
	underlays(t, func(t *testing.T, c *span.Cluster) {
		n := c.Network(t, 1, nil)
		a, b := c.Pod(t, "a", 0, n, at(0, 0)), c.Pod(t, "b", 0, n, at(0, 1), world.Mapping("8080:7000/tcp"), world.Mapping("8080:7000/udp"))
		far, lent := c.Pod(t, "far", 1, n, at(1, 0)), c.Pod(t, "lent", 1, n, span.Lent)
		pods := []*span.Pod{a, b, far, lent}
		for _, p := range pods {
			p.Serve(t, 7000, p.Addrs()...)
		}
		virtual := []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8:7::7")}
		for _, to := range pods {
			for _, h := range c.Hosts {
				h.Sh(t, service, to.Addrs()[0], to.Addrs()[1])
				h.ForgetFlows(t) // a question from the same port would go to the last one
			}
			for _, from := range pods {
				from.Gets(t, to.Name, 7000, virtual...)
			}
		}
		published := append(c.Hosts[0].Underlays(), n.Gateways...)
		for i := range n.Subnets {
			published = append(published, span.Source(n.Subnets[i], 0))
		}
		for _, from := range []*span.Pod{a, b} {
			from.Gets(t, "b", 8080, published...)
		}
		for _, from := range []*span.Pod{far, lent} {
			from.Gets(t, "b", 8080, append(c.Hosts[0].Underlays(), published[4:]...)...)
		}
	})
}

// foreign is a firewall as a careful operator writes it.
const foreign = `nft 'add table inet foreign; add chain inet foreign through { type filter hook forward priority 0; policy drop; }
	add chain inet foreign out { type filter hook output priority 0; }
	add rule inet foreign through ct state established,related accept; add rule inet foreign through ct state invalid drop
	add rule inet foreign out ct state invalid drop'`

// TestForeignFirewall: a firewall of others that knows tracked packets only stops
// nothing, with and without the fast path, and no error about it.
func TestForeignFirewall(t *testing.T) {
	for _, fast := range []string{"true", "false"} {
		t.Run("fast-path="+fast, func(t *testing.T) { foreignFirewall(t, fast) })
	}
}

func foreignFirewall(t *testing.T, fast string) {
	underlays(t, func(t *testing.T, c *span.Cluster) {
		n := c.Network(t, 1, func(n *heddle.Network) { n.Options = map[string]string{"fast-path": fast} })
		a, b, far := c.Pod(t, "a", 0, n, at(0, 0)), c.Pod(t, "b", 0, n, at(0, 1)), c.Pod(t, "far", 1, n, at(1, 0))
		for _, h := range c.Hosts {
			h.Sh(t, foreign)
			err := h.Do(func() error {
				others, err := coexist.Open()
				if err != nil {
					return err
				}
				defer others.Close()
				_, err = others.Admit()
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		far.Serve(t, 7000, far.Addrs()...)
		b.Serve(t, 7000, b.Addrs()...)
		a.Gets(t, "far", 7000, far.Addrs()...)
		a.Gets(t, "b", 7000, b.Addrs()...)
		for i, to := range append(b.Addrs(), far.Addrs()...) {
			if err := a.Ping(to, "-s", "6000"); err != nil {
				t.Errorf("fragments: %v", err)
			}
			errorsReach(t, a, to)
			if fast == "false" { // a route changed by hand is the stack's alone
				shrinks(t, a, to, []string{"ip", "ip -6"}[i%2])
			}
		}
	})
}

// errorsReach checks what a container learns of its packets' fate: a closed port
// from the other container, a hop limit from the host.
func errorsReach(t *testing.T, a *span.Pod, to netip.Addr) {
	t.Helper()
	if _, err := a.Ask("udp", netip.AddrPortFrom(to, 7999)); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a closed port of %s: %v", to, err)
	}
	if out, err := a.TrySh("ping -n -c 1 -W 5 -t 1 %s", to); err == nil || !strings.Contains(out, "ime to live exceeded") && !strings.Contains(out, "Hop limit") {
		t.Errorf("a packet of one hop to %s: %s", to, out)
	}
}

// shrinks checks that a container learns of a tunnel's path MTU from the host.
func shrinks(t *testing.T, a *span.Pod, to netip.Addr, ip string) {
	t.Helper()
	route := strings.Fields(a.Host.Sh(t, "%s -o route get %s", ip, to))
	for i, word := range route[:len(route)-1] {
		if word == "dev" && strings.HasPrefix(route[i+1], heddle.PrefixTunnel) {
			shrink(t, a, to, ip)
		}
	}
}

// shrink lets the path carry less for a while.
func shrink(t *testing.T, a *span.Pod, to netip.Addr, ip string) {
	t.Helper()
	was, _, _ := strings.Cut(a.Host.Sh(t, "%s route show to match %s proto 104 | grep -v unreachable", ip, to), "\n")
	narrow := was[:strings.Index(was, " mtu ")] + " mtu 1290"
	a.Host.Sh(t, "%s route replace %s", ip, narrow)
	defer a.Host.Sh(t, "%s route replace %s", ip, was)
	world.Soon(t, fmt.Sprintf("%s knows the path to %s", a.Name, to), func() error {
		_, _ = a.TrySh("ping -n -c 1 -W 1 -M do -s 1300 %s", to) // is too big
		out, err := a.TrySh("%s route get %s", ip, to)
		if err == nil && !strings.Contains(out, "mtu 1290") {
			err = fmt.Errorf("its route is %s", out)
		}
		return err
	})
}
