package kernel

import (
	"errors"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// Destinations are what the host's routes lead to, in all tables, whoever made
// them; default routes, and those of multicast and of links alone, are left out.
func (k *Kernel) Destinations() ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		some, err := list(k.listRt, func() *nl.NetlinkRequest {
			return request(unix.RTM_GETROUTE, 0, &nl.RtMsg{RtMsg: unix.RtMsg{Family: family}})
		}, ledTo)
		if err != nil && !errors.Is(err, unix.EAFNOSUPPORT) {
			return nil, refused("list", "routes", err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// HostRoutes are what the host's own routes of the main table lead to: those of others
// than us, without default routes, also those that are written as the halves of all
// addresses or as all of IPv6's global ones, and without those that lead nowhere.
func (k *Kernel) HostRoutes() ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		some, err := list(k.listRt, func() *nl.NetlinkRequest {
			return request(unix.RTM_GETROUTE, 0, &nl.RtMsg{RtMsg: unix.RtMsg{Family: family, Table: unix.RT_TABLE_MAIN}})
		}, ownRoute)
		if err != nil && !errors.Is(err, unix.EAFNOSUPPORT) {
			return nil, refused("list", "routes", err)
		}
		all = append(all, some...)
	}
	return all, nil
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
