package kernel

import (
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The kernel's default metric of IPv6 routes (IP6_RT_PRIO_USER).
const metricIPv6 = 1024

// routeID is the key by which the kernel distinguishes routes: two routes with the same key cannot
// both exist, wherever they lead.
type routeID struct {
	table  int
	dst    netip.Prefix
	metric uint32
}

func idOf(r heddle.Route) routeID {
	r = filled(r)
	return routeID{r.Table, r.Dst, r.Metric}
}

// filled completes a route as the kernel reports it: with its table and metric, and an IPv6 route
// that leads nowhere without the loopback that the kernel assigns to it.
func filled(r heddle.Route) heddle.Route {
	r.Dst = r.Dst.Masked()
	if r.Table == 0 {
		r.Table = unix.RT_TABLE_MAIN
	}
	if r.Metric == 0 && r.Dst.Addr().Is6() {
		r.Metric = metricIPv6
	}
	if r.Type != "" {
		r.Link = ""
	}
	return r
}

// plain is the inverse of filled: a route as a plan writes it.
func plain(r heddle.Route) heddle.Route {
	if r.Table == unix.RT_TABLE_MAIN {
		r.Table = 0
	}
	if r.Metric == metricIPv6 && r.Dst.Addr().Is6() {
		r.Metric = 0
	}
	return r
}

// nowhereTypes are the types of routes that lead nowhere (linux/rtnetlink.h).
var nowhereTypes = map[string]uint8{"unreachable": unix.RTN_UNREACHABLE, "blackhole": unix.RTN_BLACKHOLE}

// routeRequest is an RTM_NEWROUTE or RTM_DELROUTE request about a route of ours.
func routeRequest(kind, flags int, r routeAt) *nl.NetlinkRequest {
	r.Route = filled(r.Route)
	raw := heddle.NICRoute{Dst: r.Dst, Type: unix.RTN_UNICAST, Table: uint32(r.Table), Protocol: heddle.RouteProtocol,
		Scope: unix.RT_SCOPE_UNIVERSE, Via: r.Via, OnLink: r.OnLink, Src: r.Src, Metric: r.Metric}
	if nowhere, is := nowhereTypes[r.Type]; is {
		raw.Type = nowhere
	} else if r.Dst.Addr().Is4() && !r.Via.IsValid() {
		raw.Scope = unix.RT_SCOPE_LINK
	}
	if r.MTU != 0 {
		raw.Metrics = map[uint16]uint32{unix.RTAX_MTU: uint32(r.MTU)}
	}
	return encodeRoute(kind, flags, r.index, raw)
}

// routeAt is a route with the index of its interface instead of the name.
type routeAt struct {
	heddle.Route
	index int
}

// at resolves the route's interface.
func (s *session) at(r heddle.Route) (routeAt, error) {
	if r.Link == "" || r.Type != "" {
		return routeAt{Route: r}, nil
	}
	index, err := s.ifindex(r.Link)
	return routeAt{r, index}, err
}

// same reports whether two routes lead the same way.
func (r routeAt) same(o routeAt) bool {
	r.Route, o.Route = filled(r.Route), filled(o.Route)
	r.Link, o.Link = "", ""
	return r == o
}

// routes lists our routes in all tables. The kernel filters out the routes of other protocols, of
// which a router may have a million.
func (s *session) routes() ([]routeAt, error) {
	return listBoth(s.rt, func(family uint8) *nl.NetlinkRequest {
		return request(unix.RTM_GETROUTE, 0, &nl.RtMsg{RtMsg: unix.RtMsg{Family: family, Protocol: heddle.RouteProtocol}})
	}, decodeRoute)
}

func decodeRoute(b []byte) (routeAt, bool) {
	if len(b) < unix.SizeofRtMsg {
		return routeAt{}, false
	}
	head, at := nl.DeserializeRtMsg(b), attributes(b[unix.SizeofRtMsg:])
	if head.Protocol != heddle.RouteProtocol || head.Flags&unix.RTM_F_CLONED != 0 {
		return routeAt{}, false
	}
	r := routeAt{index: int(number(at.get(unix.RTA_OIF)))}
	r.Dst = decodeDestination(head, at)
	r.Table, r.Metric = int(number(at.get(unix.RTA_TABLE))), number(at.get(unix.RTA_PRIORITY))
	r.Via = decodeVia(at)
	r.Src, _ = netip.AddrFromSlice(at.get(unix.RTA_PREFSRC))
	r.OnLink = head.Flags&unix.RTNH_F_ONLINK != 0
	r.MTU = int(number(attributes(at.get(unix.RTA_METRICS)).get(unix.RTAX_MTU)))
	for name, number := range nowhereTypes {
		if head.Type == number {
			r.Type, r.index = name, 0
		}
	}
	return r, true
}
