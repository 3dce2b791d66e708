package kernel

import (
	"errors"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
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
