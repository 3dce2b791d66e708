package attack_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// routerAttacks are advertisements to the agent, which takes IPv6 addresses for its containers from the LAN's routers: of somebody who is none
// of them, or who wants more than to be a router.
func routerAttacks() []ownAttack {
	by := func(name, limit string, mount func(*testing.T, *routerScene) bool) ownAttack {
		return ownAttack{class: "advertised", name: name, modes: isMacvlan, limit: limit, mount: func(t *testing.T, _ string, open bool) bool {
			s := &routerScene{w: world.New(t), open: open}
			s.mac = string(macOf(t, s.w.Outside, "eth0"))
			s.w.ServeDHCP(t)
			s.w.Network(t, "lan", isMacvlan, func(n *heddle.Network) { n.Subnets = nil }, world.With("addresses=dhcp"), world.With("ipv6=auto"))
			s.w.Host.Sh(t, "sysctl -qw net.ipv6.conf.up0.accept_ra=0") // the host's addresses stay as they are
			return mount(t, s)
		}}
	}
	return []ownAttack{
		by("an advertisement from beyond the LAN", "", fromBeyond),
		by("an advertisement by a container beside", "", advertisedBeside),
		by("routes of a router besides the default route", "", routesOfRouter),
		by("the prefix of another network of the host", "", othersPrefix),
		by("the IPv6 default route, by whoever advertises", "nothing in neighbour discovery says who is a router; a switch can (RA Guard)", advertisesFirst),
	}
}

// routerScene is a host with a network whose IPv6 addresses come from the LAN's routers.
type routerScene struct {
	w    *world.World
	mac  string // of the LAN's other end
	open bool
}

// The attacker, and the LAN's router, in the same place; the prefixes that they advertise.
var (
	rogueRouter, trueRouter = netip.MustParseAddr("fe80::66"), netip.MustParseAddr("fe80::2")
	roguePrefix, truePrefix = netip.MustParsePrefix("2001:db8:66::/64"), netip.MustParsePrefix("2001:db8:1::/64")
)

func (s *routerScene) advertise(t *testing.T, from world.Netns, mac string, a world.Advertisement) {
	t.Helper()
	if err := from.TrySend("eth0", a.Frame(t, heddle.MAC(mac).Bytes())); err != nil {
		t.Error(err)
	}
}

// victim is a container on the LAN, whose router has no prefix yet: it advertises so all the time, for else the attach would wait for one.
func (s *routerScene) victim(t *testing.T) *world.Pod {
	t.Helper()
	attached, quiet := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(quiet)
		for {
			s.advertise(t, s.w.Outside, s.mac, world.Advertisement{From: trueRouter})
			select {
			case <-attached:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	defer func() { close(attached); <-quiet }()
	return s.w.Pod(t, "victim", "lan")
}

// takes reports whether the victim gets an address in the prefix by what was sent. When it has one of the true router's, which advertises
// afterwards, all that was sent before has been read.
func (s *routerScene) takes(t *testing.T, victim *world.Pod, prefix netip.Prefix) (took bool) {
	t.Helper()
	s.advertise(t, s.w.Outside, s.mac, world.Advertisement{From: trueRouter, Prefixes: []netip.Prefix{truePrefix}})
	world.Soon(t, "the true router is followed", func() error {
		e, err := s.w.Endpoint(victim.Endpoint.ID)
		if err != nil {
			return err
		}
		in := func(p netip.Prefix) bool {
			return slices.ContainsFunc(e.Addrs, func(a netip.Prefix) bool { return p.Contains(a.Addr()) })
		}
		if took = in(prefix); !in(truePrefix) {
			return fmt.Errorf("%+v", e.DHCP.IPv6)
		}
		found, err := s.w.Check(victim.Endpoint.ID) // what is recorded is made after that
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("%+v", found)
		}
		return err
	})
	return took
}

// fromBeyond sends an advertisement as it would look behind a router; allowed to, as one of the LAN.
func fromBeyond(t *testing.T, s *routerScene) bool {
	victim := s.victim(t)
	a := world.Advertisement{From: rogueRouter, Hops: 254, Prefixes: []netip.Prefix{roguePrefix}}
	if s.open {
		a.Hops = 255
	}
	s.advertise(t, s.w.Outside, s.mac, a)
	return s.takes(t, victim, roguePrefix)
}

// advertisedBeside sends one from another container on the parent; allowed to, from the LAN.
func advertisedBeside(t *testing.T, s *routerScene) bool {
	victim := s.victim(t)
	s.w.Network(t, "beside", isMacvlan, func(n *heddle.Network) {
		n.Subnets, n.Ranges = nil, []netip.Prefix{netip.MustParsePrefix("192.0.2.200/29"), netip.MustParsePrefix("2001:db8::1:0/112")}
	})
	attacker := s.w.Pod(t, "attacker", "beside")
	from, mac := attacker.Netns, string(attacker.Endpoint.MAC)
	if s.open {
		from, mac = s.w.Outside, s.mac
	}
	a := world.Advertisement{From: rogueRouter, Prefixes: []netip.Prefix{roguePrefix}}
	s.advertise(t, from, mac, a)
	toOne := a.Frame(t, heddle.MAC(mac).Bytes()) // the parent hears what a container sends to the device of one beside, or to its own
	copy(toOne, attacker.Endpoint.MAC.Bytes())
	if err := from.TrySend("eth0", toOne); err != nil {
		t.Error(err)
	}
	return s.takes(t, victim, roguePrefix)
}

// routesOfRouter succeeds if a route leads to the attacker; allowed to, it is the default router.
func routesOfRouter(t *testing.T, s *routerScene) bool {
	victim := s.victim(t)
	a := world.Advertisement{From: rogueRouter, Prefixes: []netip.Prefix{roguePrefix}, Routes: []netip.Prefix{netip.MustParsePrefix("2001:db8:99::/48"), netip.MustParsePrefix("2000::/3")}}
	if s.open {
		a.Lifetime = time.Hour
	}
	s.advertise(t, s.w.Outside, s.mac, a)
	if !s.takes(t, victim, roguePrefix) {
		t.Fatal("the prefix is not followed")
	}
	return strings.Contains(victim.Sh(t, "ip -6 route show table all"), rogueRouter.String())
}

// othersPrefix advertises the subnet of another network of the host; allowed to, one of nobody's.
func othersPrefix(t *testing.T, s *routerScene) bool {
	other := s.w.Network(t, "other", "bridge")
	s.w.Pod(t, "neighbour", "other")
	victim, prefix := s.victim(t), other.Subnets[1]
	if s.open {
		prefix = roguePrefix
	}
	s.advertise(t, s.w.Outside, s.mac, world.Advertisement{From: rogueRouter, Prefixes: []netip.Prefix{prefix}})
	return s.takes(t, victim, prefix)
}

// advertisesFirst names the attacker as the router.
func advertisesFirst(t *testing.T, s *routerScene) bool {
	victim := s.victim(t)
	s.advertise(t, s.w.Outside, s.mac, world.Advertisement{From: rogueRouter, Lifetime: time.Hour, Prefixes: []netip.Prefix{roguePrefix}})
	s.takes(t, victim, roguePrefix)
	return strings.Contains(victim.Sh(t, "ip -6 route show default"), rogueRouter.String())
}
