package kernel

import (
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// encodeRoute encodes a route in the kernel's terms; index is the index of its interface, 0 if it
// has none.
func encodeRoute(kind, flags, index int, r heddle.NICRoute) *nl.NetlinkRequest {
	head := &nl.RtMsg{RtMsg: unix.RtMsg{Family: uint8(familyOf(r.Dst.Addr())), Dst_len: uint8(r.Dst.Bits()), Tos: r.TOS,
		Protocol: r.Protocol, Type: r.Type, Scope: r.Scope}}
	if r.Table < 256 {
		head.Table = uint8(r.Table)
	}
	if r.OnLink {
		head.Flags = unix.RTNH_F_ONLINK
	}
	req := request(kind, flags, head)
	req.AddData(nl.NewRtAttr(unix.RTA_DST, r.Dst.Addr().AsSlice()))
	req.AddData(numberAttr(unix.RTA_TABLE, r.Table))
	if index != 0 {
		req.AddData(numberAttr(unix.RTA_OIF, uint32(index)))
	}
	if r.Metric != 0 {
		req.AddData(numberAttr(unix.RTA_PRIORITY, r.Metric))
	}
	if r.Via.IsValid() {
		req.AddData(viaAttr(r.Dst, r.Via))
	}
	if r.Src.IsValid() {
		req.AddData(nl.NewRtAttr(unix.RTA_PREFSRC, r.Src.AsSlice()))
	}
	if r.Pref != 0 {
		req.AddData(octetAttr(unix.RTA_PREF, r.Pref))
	}
	if len(r.Metrics) > 0 || r.Congestion != "" {
		metrics := nl.NewRtAttr(unix.RTA_METRICS|unix.NLA_F_NESTED, nil)
		for kind, v := range r.Metrics {
			metrics.AddRtAttr(int(kind), nl.Uint32Attr(v))
		}
		if r.Congestion != "" {
			metrics.AddRtAttr(unix.RTAX_CC_ALGO, nl.ZeroTerminated(r.Congestion))
		}
		req.AddData(metrics)
	}
	if r.Expires != 0 {
		req.AddData(numberAttr(unix.RTA_EXPIRES, r.Expires))
	}
	return req
}

// viaAttr encodes the next hop. The next hop of an IPv4 route may be an IPv6 address (struct rtvia
// of linux/rtnetlink.h).
func viaAttr(dst netip.Prefix, via netip.Addr) *nl.RtAttr {
	if heddle.FamilyOf(via) == heddle.FamilyOf(dst.Addr()) {
		return nl.NewRtAttr(unix.RTA_GATEWAY, via.AsSlice())
	}
	family := make([]byte, 2)
	nl.NativeEndian().PutUint16(family, uint16(familyOf(via)))
	return nl.NewRtAttr(unix.RTA_VIA, append(family, via.AsSlice()...))
}

// decodeDestination reads the destination of a route. A default route has no destination attribute.
func decodeDestination(head *nl.RtMsg, at attributes) netip.Prefix {
	dst, ok := netip.AddrFromSlice(at.get(unix.RTA_DST))
	if !ok {
		dst = netip.IPv4Unspecified()
		if head.Family == unix.AF_INET6 {
			dst = netip.IPv6Unspecified()
		}
	}
	return netip.PrefixFrom(dst, int(head.Dst_len))
}

// decodeVia reads the next hop of a route.
func decodeVia(at attributes) netip.Addr {
	via, ok := netip.AddrFromSlice(at.get(unix.RTA_GATEWAY))
	if other := at.get(unix.RTA_VIA); !ok && len(other) > 2 {
		via, _ = netip.AddrFromSlice(other[2:])
	}
	return via
}
