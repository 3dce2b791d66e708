package kernel

import (
	"errors"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The kernel's default metric of IPv6 routes (IP6_RT_PRIO_USER).
const metricIPv6 = 1024

// routeID is what the kernel tells routes apart by: two routes that agree in
// it cannot both exist, whatever they lead to.
type routeID struct {
	table  int
	dst    netip.Prefix
	metric uint32
}

func idOf(r heddle.Route) routeID {
	r = filled(r)
	return routeID{r.Table, r.Dst, r.Metric}
}

// filled writes out a route as the kernel shows it: with its table and metric,
// and an IPv6 route that leads nowhere without the loopback that the kernel
// hangs it on.
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

// plain is the reverse of filled: a route as a plan writes it.
func plain(r heddle.Route) heddle.Route {
	if r.Table == unix.RT_TABLE_MAIN {
		r.Table = 0
	}
	if r.Metric == metricIPv6 && r.Dst.Addr().Is6() {
		r.Metric = 0
	}
	return r
}

// routeRequest is RTM_NEWROUTE or RTM_DELROUTE about a route of ours.
func routeRequest(kind, flags int, r routeAt) *nl.NetlinkRequest {
	r.Route = filled(r.Route)
	head := &nl.RtMsg{RtMsg: unix.RtMsg{
		Family: uint8(familyOf(r.Dst.Addr())), Dst_len: uint8(r.Dst.Bits()),
		Protocol: heddle.RouteProtocol, Type: unix.RTN_UNICAST, Scope: unix.RT_SCOPE_UNIVERSE,
	}}
	if r.Table < 256 {
		head.Table = uint8(r.Table)
	}
	if r.OnLink {
		head.Flags = unix.RTNH_F_ONLINK
	}
	if r.Type == "unreachable" {
		head.Type = unix.RTN_UNREACHABLE
	} else if r.Dst.Addr().Is4() && !r.Via.IsValid() {
		head.Scope = unix.RT_SCOPE_LINK
	}
	req := request(kind, flags, head)
	req.AddData(nl.NewRtAttr(unix.RTA_DST, r.Dst.Addr().AsSlice()))
	req.AddData(numberAttr(unix.RTA_TABLE, uint32(r.Table)))
	if r.Metric != 0 {
		req.AddData(numberAttr(unix.RTA_PRIORITY, r.Metric))
	}
	if r.Via.IsValid() {
		req.AddData(viaAttr(r.Dst, r.Via))
	}
	if r.Src.IsValid() {
		req.AddData(nl.NewRtAttr(unix.RTA_PREFSRC, r.Src.AsSlice()))
	}
	if r.MTU != 0 {
		metrics := nl.NewRtAttr(unix.RTA_METRICS|unix.NLA_F_NESTED, nil)
		metrics.AddRtAttr(unix.RTAX_MTU, nl.Uint32Attr(uint32(r.MTU)))
		req.AddData(metrics)
	}
	if r.index != 0 {
		req.AddData(numberAttr(unix.RTA_OIF, uint32(r.index)))
	}
	return req
}

// viaAttr is the next hop, which for an IPv4 route may be an IPv6 address (struct
// rtvia of linux/rtnetlink.h).
func viaAttr(dst netip.Prefix, via netip.Addr) *nl.RtAttr {
	if via.Is4() == dst.Addr().Is4() {
		return nl.NewRtAttr(unix.RTA_GATEWAY, via.AsSlice())
	}
	family := make([]byte, 2)
	nl.NativeEndian().PutUint16(family, uint16(familyOf(via)))
	return nl.NewRtAttr(unix.RTA_VIA, append(family, via.AsSlice()...))
}

// decodeVia reads the next hop of a route.
func decodeVia(at map[uint16][]byte) netip.Addr {
	via, ok := netip.AddrFromSlice(at[unix.RTA_GATEWAY])
	if other := at[unix.RTA_VIA]; !ok && len(other) > 2 {
		via, _ = netip.AddrFromSlice(other[2:])
	}
	return via
}

// routeAt is a route with its interface's index in place of the name.
type routeAt struct {
	heddle.Route
	index int
}

// at resolves the route's interface.
func (s *site) at(r heddle.Route) (routeAt, error) {
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

// routes lists our routes in all tables; the kernel leaves out those of other
// protocols, of which a router may have a million.
func (s *site) routes() ([]routeAt, error) {
	var all []routeAt
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		some, err := list(s.rt, func() *nl.NetlinkRequest {
			return request(unix.RTM_GETROUTE, 0, &nl.RtMsg{RtMsg: unix.RtMsg{Family: family, Protocol: heddle.RouteProtocol}})
		}, decodeRoute)
		if errors.Is(err, unix.EAFNOSUPPORT) {
			continue // a kernel started without IPv6
		}
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func decodeRoute(b []byte) (routeAt, bool) {
	if len(b) < unix.SizeofRtMsg {
		return routeAt{}, false
	}
	head, at := nl.DeserializeRtMsg(b), attributes(b[unix.SizeofRtMsg:])
	if head.Protocol != heddle.RouteProtocol || head.Flags&unix.RTM_F_CLONED != 0 {
		return routeAt{}, false
	}
	dst, ok := netip.AddrFromSlice(at[unix.RTA_DST])
	if !ok {
		dst = netip.IPv4Unspecified()
		if head.Family == unix.AF_INET6 {
			dst = netip.IPv6Unspecified()
		}
	}
	r := routeAt{index: int(number(at[unix.RTA_OIF]))}
	r.Dst = netip.PrefixFrom(dst, int(head.Dst_len))
	r.Table, r.Metric = int(number(at[unix.RTA_TABLE])), number(at[unix.RTA_PRIORITY])
	r.Via = decodeVia(at)
	r.Src, _ = netip.AddrFromSlice(at[unix.RTA_PREFSRC])
	r.OnLink = head.Flags&unix.RTNH_F_ONLINK != 0
	r.MTU = int(number(attributes(at[unix.RTA_METRICS])[unix.RTAX_MTU]))
	if head.Type == unix.RTN_UNREACHABLE {
		r.Type = "unreachable"
		r.index = 0
	}
	return r, true
}
