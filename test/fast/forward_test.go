package fast_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/world"
)

// TestNested: a namespace of a container's own, behind NAT, gets all bytes through,
// whatever the segmentation of the devices before it. TestForwards: so does a
// container that calls another one by way of a third.
func TestNested(t *testing.T) {
	forwarding(t, func(s *scene, nested world.Netns) (errs []error) {
		for _, to := range append(s.a.Addrs(), s.b.Addrs()...) {
			errs = append(errs, echo(nested, netip.AddrPortFrom(to, 7000), bulk()))
		}
		return errs
	})
}

func TestForwards(t *testing.T) {
	s := forwarding(t, func(s *scene, _ world.Netns) (errs []error) {
		for _, to := range s.far.Addrs() {
			errs = append(errs, echo(s.b.Netns, netip.AddrPortFrom(to, 9000), bulk()))
		}
		return errs
	})
	if s.second.Carried(t).Missed["forwarded"] == 0 {
		t.Error("no packet was left because the container forwards: the test proves nothing")
	}
}

// forwarding tries with all ways and segmentations.
func forwarding(t *testing.T, try func(*scene, world.Netns) []error) *scene {
	s := newScene(t)
	nested := nest(t, s.far, s.a)
	for _, offload := range []string{"off", "on"} {
		s.far.Sh(t, "ethtool -K nest0 tso %s gso %[1]s; ethtool -K nest0 tx-checksum-ip-generic %[1]s", offload)
		for _, w := range ways {
			t.Run("segmentation "+offload+"/"+w.name, func(t *testing.T) {
				defer s.set(t, w)()
				if err := errors.Join(try(s, nested)...); err != nil {
					t.Error(err)
				}
			})
		}
	}
	return s
}

// nest makes a namespace behind the container router, which masquerades it, and has
// the router send on what comes to its port 9000 to another container.
func nest(t *testing.T, router, to *span.Pod) world.Netns {
	t.Helper()
	nested := world.NewNetns(t, "nested")
	router.Sh(t, `sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
		ip link add nest0 type veth peer name eth0 netns nested; ip link set nest0 up
		ip address add 172.30.0.1/24 dev nest0; ip address add fd30::1/64 dev nest0 nodad
		nft 'add table inet nest; add chain inet nest post { type nat hook postrouting priority srcnat; }
			add rule inet nest post oifname eth0 masquerade
			add chain inet nest pre { type nat hook prerouting priority dstnat; }
			add rule inet nest pre tcp dport 9000 dnat ip to %s:7000
			add rule inet nest pre tcp dport 9000 dnat ip6 to [%s]:7000'`, to.Addrs()[0], to.Addrs()[1])
	nested.Sh(t, `ip link set eth0 up; ip address add 172.30.0.2/24 dev eth0; ip address add fd30::2/64 dev eth0 nodad
		ip route add default via 172.30.0.1; ip -6 route add default via fd30::1`)
	nested.Reaches(t, to.Addrs()...)
	return nested
}

// TestForwardsBetween: a container that leads from one network into another gets all
// bytes through, both ways: what comes by one of its interfaces leaves by the other.
func TestForwardsBetween(t *testing.T) {
	s := newScene(t)
	inner := s.Network(t, 4, nil)
	server, back := s.Pod(t, "inner", 0, inner, at(0, 0)), s.far.Join(t, inner, at(1, 0))
	server.Serve(t, 7000, server.Addrs()...)
	s.far.Sh(t, `sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
		nft 'add table inet lead; add chain inet lead post { type nat hook postrouting priority srcnat; }
			add rule inet lead post oifname eth1 masquerade
			add chain inet lead pre { type nat hook prerouting priority dstnat; }
			add rule inet lead pre tcp dport 9000 dnat ip to %s:7000
			add rule inet lead pre tcp dport 9000 dnat ip6 to [%s]:7000'`, server.Addrs()[0], server.Addrs()[1])
	back.Reaches(t, server.Addrs()...)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			defer s.set(t, w)()
			for _, to := range s.far.Addrs() {
				if err := echo(s.b.Netns, netip.AddrPortFrom(to, 9000), bulk()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if s.second.Carried(t).Missed["forwarded"] == 0 {
		t.Error("no packet was left because the container forwards: the test proves nothing")
	}
}
