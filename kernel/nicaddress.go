package kernel

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Attributes of linux/if_addr.h, and the flags that the kernel accepts from a user. The other flags
// are states (tentative, deprecated, permanent …).
const (
	ifaRtPriority = 9
	ifaProto      = 11
	flagsTaken    = unix.IFA_F_NODAD | unix.IFA_F_HOMEADDRESS | unix.IFA_F_MANAGETEMPADDR | unix.IFA_F_NOPREFIXROUTE |
		unix.IFA_F_MCAUTOJOIN | unix.IFA_F_OPTIMISTIC | unix.IFA_F_STABLE_PRIVACY
	forever = 0xffffffff
)

// nicAddresses lists an interface's addresses in the order in which they must be made. The order
// decides which IPv4 addresses are primary; of IPv6, the newest address is listed first. The kernel
// makes temporary addresses (RFC 8981) anew.
func (s *session) nicAddresses(index int) ([]heddle.NICAddress, error) {
	all, err := list(s.rt, addressQuery(index), decodeNICAddress)
	var four, six []heddle.NICAddress
	for _, a := range all {
		if a.Prefix.Addr().Is4() {
			four = append(four, a)
		} else {
			six = append(six, a)
		}
	}
	slices.Reverse(six)
	return append(four, six...), err
}

func decodeNICAddress(b []byte) (heddle.NICAddress, bool) {
	if len(b) < unix.SizeofIfAddrmsg {
		return heddle.NICAddress{}, false
	}
	head, at := nl.DeserializeIfAddrmsg(b), attributes(b[unix.SizeofIfAddrmsg:])
	address, ok := netip.AddrFromSlice(at.get(unix.IFA_ADDRESS))
	local, isLocal := netip.AddrFromSlice(at.get(unix.IFA_LOCAL))
	a := heddle.NICAddress{Label: text(at.get(unix.IFA_LABEL)), Scope: head.Scope, Flags: uint32(head.Flags),
		Protocol: octet(at.get(ifaProto)), Metric: number(at.get(ifaRtPriority))}
	if isLocal && local != address {
		a.Peer = address
	}
	if !isLocal {
		local = address // IPv6 has no other attribute
	}
	a.Prefix = netip.PrefixFrom(local, int(head.Prefixlen))
	a.Broadcast, _ = netip.AddrFromSlice(at.get(unix.IFA_BROADCAST))
	if long := at.get(unix.IFA_FLAGS); long != nil {
		a.Flags = number(long)
	}
	temporary := local.Is6() && a.Flags&unix.IFA_F_TEMPORARY != 0 // in IPv4 the bit says "secondary"
	a.Flags &= flagsTaken
	if local.Is4() {
		a.Flags &= unix.IFA_F_NOPREFIXROUTE | unix.IFA_F_MCAUTOJOIN
	}
	if life := at.get(unix.IFA_CACHEINFO); len(life) >= 8 {
		preferred, valid := number(life), number(life[4:])
		if a.Finite = valid != forever || preferred != forever; a.Finite {
			a.Preferred, a.Valid = preferred, valid
		}
	}
	return a, ok && !temporary
}

// nicAddressRequest is RTM_NEWADDR with all attributes that the address had; false if its lifetime
// is over.
func nicAddressRequest(flags, index int, a heddle.NICAddress, age time.Duration, extra uint32) (*nl.NetlinkRequest, bool) {
	ip := a.Prefix.Addr()
	head := nl.NewIfAddrmsg(familyOf(ip))
	head.Prefixlen, head.Index, head.Scope = uint8(a.Prefix.Bits()), uint32(index), a.Scope
	r := request(unix.RTM_NEWADDR, flags, head)
	far := ip
	if a.Peer.IsValid() {
		far = a.Peer
	}
	r.AddData(nl.NewRtAttr(unix.IFA_LOCAL, ip.AsSlice()))
	r.AddData(nl.NewRtAttr(unix.IFA_ADDRESS, far.AsSlice()))
	if a.Broadcast.IsValid() {
		r.AddData(nl.NewRtAttr(unix.IFA_BROADCAST, a.Broadcast.AsSlice()))
	}
	if a.Label != "" {
		r.AddData(textAttr(unix.IFA_LABEL, a.Label))
	}
	if a.Protocol != 0 {
		r.AddData(octetAttr(ifaProto, a.Protocol))
	}
	if a.Metric != 0 {
		r.AddData(numberAttr(ifaRtPriority, a.Metric))
	}
	r.AddData(numberAttr(unix.IFA_FLAGS, a.Flags|extra))
	if a.Finite {
		valid := left(a.Valid, age)
		if valid == 0 {
			return nil, false
		}
		life := make([]byte, 16) // struct ifa_cacheinfo
		nl.NativeEndian().PutUint32(life, left(a.Preferred, age))
		nl.NativeEndian().PutUint32(life[4:], valid)
		r.AddData(nl.NewRtAttr(unix.IFA_CACHEINFO, life))
	}
	return r, true
}

// left is the rest of a lifetime in seconds.
func left(seconds uint32, age time.Duration) uint32 {
	passed := uint32(max(age, 0) / time.Second)
	switch {
	case seconds == forever:
		return forever
	case seconds <= passed:
		return 0
	}
	return seconds - passed
}
