package kernel

import (
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// addressRequest is RTM_NEWADDR or RTM_DELADDR about an address.
func (s *site) addressRequest(kind, flags int, a heddle.Address) (*nl.NetlinkRequest, error) {
	index, err := s.ifindex(a.Link)
	if err != nil {
		return nil, err
	}
	ip := a.Prefix.Addr()
	head := nl.NewIfAddrmsg(familyOf(ip))
	head.Prefixlen = uint8(a.Prefix.Bits())
	head.Index = uint32(index)
	switch {
	case ip.Is6():
		// Duplicate detection would keep the address unusable for a second;
		// the allocator has excluded duplicates.
		head.IfAddrmsg.Flags = unix.IFA_F_NODAD
	case ip.IsLoopback() || a.HostScope:
		head.Scope = unix.RT_SCOPE_HOST
	}
	r := request(kind, flags, head)
	r.AddData(nl.NewRtAttr(unix.IFA_LOCAL, ip.AsSlice()))
	r.AddData(nl.NewRtAttr(unix.IFA_ADDRESS, ip.AsSlice()))
	return r, nil
}

func familyOf(a netip.Addr) int {
	if a.Is6() {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// addressAt is an address with its interface's index.
type addressAt struct {
	index  int
	prefix netip.Prefix
}

// addresses lists the addresses of one interface, or of all (0).
func (s *site) addresses(index int) ([]addressAt, error) {
	return list(s.rt, addressQuery(index), decodeAddress)
}

func addressQuery(index int) func() *nl.NetlinkRequest {
	return func() *nl.NetlinkRequest {
		head := nl.NewIfAddrmsg(unix.AF_UNSPEC)
		head.Index = uint32(index)
		return request(unix.RTM_GETADDR, 0, head)
	}
}

func decodeAddress(b []byte) (addressAt, bool) {
	at := after(unix.SizeofIfAddrmsg, b)
	raw := at[unix.IFA_LOCAL]
	if raw == nil {
		raw = at[unix.IFA_ADDRESS] // IPv6 has no other
	}
	ip, ok := netip.AddrFromSlice(raw)
	if !ok {
		return addressAt{}, false
	}
	head := nl.DeserializeIfAddrmsg(b)
	return addressAt{index: int(head.Index), prefix: netip.PrefixFrom(ip, int(head.Prefixlen))}, true
}
