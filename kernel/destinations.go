package kernel

import (
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// Destinations are the prefixes of the host's routes in all tables, whoever made the routes,
// without default, multicast and link-local routes.
func (k *Kernel) Destinations() ([]netip.Prefix, error) {
	all, err := listBoth(k.listRt, func(family uint8) *nl.NetlinkRequest {
		return request(unix.RTM_GETROUTE, 0, &nl.RtMsg{RtMsg: unix.RtMsg{Family: family}})
	}, ledTo)
	return all, refused("list", "routes", err)
}

// HostRoutes are the prefixes of the routes in the host's main table that are not ours.
// Left out are default routes, also when written as two halves of all addresses or as all
// global IPv6 addresses, and routes that lead nowhere.
func (k *Kernel) HostRoutes() ([]netip.Prefix, error) {
	all, err := listBoth(k.listRt, func(family uint8) *nl.NetlinkRequest {
		return request(unix.RTM_GETROUTE, 0, &nl.RtMsg{RtMsg: unix.RtMsg{Family: family, Table: unix.RT_TABLE_MAIN}})
	}, ownRoute)
	return all, refused("list", "routes", err)
}

func ownRoute(b []byte) (netip.Prefix, bool) {
	p, ok := ledTo(b)
	if !ok {
		return p, false
	}
	head := nl.DeserializeRtMsg(b)
	least := 2
	if p.Addr().Is6() {
		least = 4
	}
	return p, head.Table == unix.RT_TABLE_MAIN && head.Type == unix.RTN_UNICAST && head.Protocol != heddle.RouteProtocol && p.Bits() >= least
}

// ledTo decodes the destination of a route.
func ledTo(b []byte) (netip.Prefix, bool) {
	if len(b) < unix.SizeofRtMsg {
		return netip.Prefix{}, false
	}
	head := nl.DeserializeRtMsg(b)
	dst, ok := netip.AddrFromSlice(attributes(b[unix.SizeofRtMsg:]).get(unix.RTA_DST))
	if !ok || head.Dst_len == 0 || dst.IsMulticast() || dst.IsLinkLocalUnicast() || dst.IsLoopback() {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(dst, int(head.Dst_len)), true
}
