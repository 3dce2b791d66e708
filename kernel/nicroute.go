package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// nicRoutes lists the routes through an interface in all tables. The routes that the kernel makes
// with an address or from a router's advertisement come back without help.
func (s *session) nicRoutes(index int) ([]heddle.NICRoute, error) {
	var all []heddle.NICRoute
	var odd error
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		some, err := list(s.rt, func() *nl.NetlinkRequest {
			r := request(unix.RTM_GETROUTE, 0, &nl.RtMsg{RtMsg: unix.RtMsg{Family: family}})
			r.AddData(numberAttr(unix.RTA_OIF, uint32(index)))
			return r
		}, func(b []byte) (heddle.NICRoute, bool) {
			r, kept, err := decodeNICRoute(b, index)
			odd = errors.Join(odd, err)
			return r, kept
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, odd
}

// routeAttributes are the attributes that a NICRoute holds.
var routeAttributes = map[uint16]bool{
	unix.RTA_DST: true, unix.RTA_OIF: true, unix.RTA_GATEWAY: true, unix.RTA_VIA: true, unix.RTA_PRIORITY: true,
	unix.RTA_PREFSRC: true, unix.RTA_METRICS: true, unix.RTA_CACHEINFO: true, unix.RTA_TABLE: true, unix.RTA_PREF: true,
}

func decodeNICRoute(b []byte, index int) (r heddle.NICRoute, kept bool, err error) {
	if len(b) < unix.SizeofRtMsg {
		return r, false, nil
	}
	head, at := nl.DeserializeRtMsg(b), attributes(b[unix.SizeofRtMsg:])
	v6 := head.Family == unix.AF_INET6
	life := at.get(unix.RTA_CACHEINFO)
	byKernel := head.Protocol == unix.RTPROT_KERNEL && (number(at.get(unix.RTA_TABLE)) == unix.RT_TABLE_LOCAL || head.Type != unix.RTN_UNICAST) ||
		v6 && (head.Protocol == unix.RTPROT_RA || head.Protocol == unix.RTPROT_REDIRECT)
	if head.Flags&unix.RTM_F_CLONED != 0 || byKernel {
		return r, false, nil
	}
	r = heddle.NICRoute{Dst: decodeDestination(head, at), Type: head.Type, Table: number(at.get(unix.RTA_TABLE)), Protocol: head.Protocol,
		Scope: head.Scope, TOS: head.Tos, OnLink: head.Flags&unix.RTNH_F_ONLINK != 0, Metric: number(at.get(unix.RTA_PRIORITY)), Pref: octet(at.get(unix.RTA_PREF))}
	r.Via = decodeVia(at)
	r.Src, _ = netip.AddrFromSlice(at.get(unix.RTA_PREFSRC))
	for kind, v := range attributes(at.get(unix.RTA_METRICS)).all() {
		if kind == unix.RTAX_CC_ALGO {
			r.Congestion = text(v)
			continue
		}
		if r.Metrics == nil {
			r.Metrics = map[uint16]uint32{}
		}
		r.Metrics[kind] = number(v)
	}
	if len(life) >= 12 { // struct rta_cacheinfo: the third field is expires, in hundredths of a second
		r.Expires = number(life[8:]) / 100
	}
	if r.Expires != 0 && r.Protocol == unix.RTPROT_KERNEL {
		return r, false, nil // the route came with an address that a router gave
	}
	for kind := range at.all() {
		if !routeAttributes[kind] || int(number(at.get(unix.RTA_OIF))) != index {
			return r, false, fmt.Errorf("its route to %s has several next hops, or what cannot be put back (attribute %d)", r.Dst, kind)
		}
	}
	return r, true, nil
}

// nicRouteRequest is RTM_NEWROUTE with all attributes that the route had; false if its lifetime is
// over.
func nicRouteRequest(index int, r heddle.NICRoute, age time.Duration) (*nl.NetlinkRequest, bool) {
	if r.Expires != 0 {
		if r.Expires = left(r.Expires, age); r.Expires == 0 {
			return nil, false
		}
	}
	return encodeRoute(unix.RTM_NEWROUTE, excl, index, r), true
}
