package kernel

import (
	"net/netip"
	"os"
	"slices"
	"sync"

	"github.com/heddle-network/heddle"
)

// hasIPv6 reports whether the kernel was started with IPv6; ipv6.disable=1
// leaves it out until the next boot.
var hasIPv6 = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/sys/net/ipv6/conf")
	return err == nil
})

// withoutIPv6 leaves out objects that have no meaning on a kernel without IPv6: the link-local
// addresses of the host's own devices and of their neighbours, which no container has asked for,
// and tables, with their rules, that keep packets from being forwarded.
// The kernel refuses other objects that need IPv6.
func withoutIPv6(p heddle.Plan) heddle.Plan {
	if hasIPv6() {
		return p
	}
	return onIPv4(p)
}

// onIPv4 is a plan for a kernel without IPv6.
func onIPv4(p heddle.Plan) heddle.Plan {
	closed := []int{}
	for _, r := range p.Host.Routes {
		if isClosed6(r) {
			closed = append(closed, r.Table)
		}
	}
	p.Host = p.Host.Filter(func(o heddle.Object) bool { return needed(o, closed) })
	return p
}

// isClosed6 reports whether a route has nothing of IPv6 forwarded that comes to its table.
func isClosed6(r heddle.Route) bool {
	return r.Table != 0 && r.Type == "unreachable" && r.Dst == heddle.IPv6.Any()
}

// needed reports whether a kernel without IPv6 is to have an object. closed are tables that have nothing of IPv6 forwarded.
func needed(o heddle.Object, closed []int) bool {
	local := func(a netip.Addr) bool { return a.Is6() && a.IsLinkLocalUnicast() }
	switch x := o.(type) {
	case heddle.Address:
		return !local(x.Prefix.Addr())
	case heddle.Neighbour:
		return !local(x.Addr)
	case heddle.Rule:
		return !x.To.Addr().Is6() || !slices.Contains(closed, x.Table)
	case heddle.Route:
		return !isClosed6(x)
	}
	return true
}

// lacksIPv6 reports whether the link is too small for IPv6. The kernel removes IPv6 with all its
// settings from a device whose MTU drops below 1280, and adds it again with the defaults when the
// MTU is raised (addrconf_notify; RFC 8200, 5).
func (l linkState) lacksIPv6() bool { return l.mtu != 0 && l.mtu < heddle.IPv6.LeastMTU() }

// carriesIPv6 reports whether the link is large enough for IPv6. If its MTU is not known, the
// kernel is asked: a device that is made without an MTU takes its parent's.
func (s *session) carriesIPv6(l linkState) (bool, error) {
	if l.mtu == 0 {
		live, err := s.link(l.name)
		if err != nil || live == nil {
			return true, err
		}
		l = *live
	}
	return !l.lacksIPv6(), nil
}

// moot reports whether a setting that is not there does not matter: the kernel has no IPv6,
// or the setting is about the IPv6 of a link that is too small for it.
func (s *session) moot(folder settings, c heddle.Sysctl) (bool, error) {
	name, is := c.IPv6Link()
	switch {
	case !is:
		return false, nil
	case folder.moot(c):
		return true, nil
	}
	l, err := s.link(name)
	return l != nil && l.lacksIPv6(), err
}
