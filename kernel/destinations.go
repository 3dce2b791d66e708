package kernel

import (
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// Destinations are what the host's routes lead to, in all tables, whoever made
// them; default routes, and those of multicast and of links alone, are left out.
func (k *Kernel) Destinations() ([]netip.Prefix, error) {
	all, err := listBoth(k.listRt, func(family uint8) *nl.NetlinkRequest {
		return request(unix.RTM_GETROUTE, 0, &nl.RtMsg{RtMsg: unix.RtMsg{Family: family}})
	}, ledTo)
	return all, refused("list", "routes", err)
}

// HostRoutes are what the host's own routes of the main table lead to: those of others
// than us, without default routes, also those that are written as the halves of all
// addresses or as all of IPv6's global ones, and without those that lead nowhere.
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

// ledTo decodes where a route leads.
func ledTo(b []byte) (netip.Prefix, bool) {
	if len(b) < unix.SizeofRtMsg {
		return netip.Prefix{}, false
	}
	head := nl.DeserializeRtMsg(b)
	dst, ok := netip.AddrFromSlice(attributes(b[unix.SizeofRtMsg:])[unix.RTA_DST])
	if !ok || head.Dst_len == 0 || dst.IsMulticast() || dst.IsLinkLocalUnicast() || dst.IsLoopback() {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(dst, int(head.Dst_len)), true
}
