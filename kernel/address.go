package kernel

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// addressKind are the addresses of interfaces.
type addressKind struct{ unmarked }

func (addressKind) make(a *attempt, s *session, want *heddle.State) error {
	return each(want.Addresses, func(x heddle.Address) error { return a.address(s, x) })
}

func (a *attempt) address(s *session, x heddle.Address) error {
	return a.step("make", x.Key(), func() error {
		add, err := s.addressRequest(unix.RTM_NEWADDR, excl, x)
		if err != nil {
			return err
		}
		err = s.rt.execute(add)
		if exists(err) {
			return a.sameAddress(s, x)
		}
		if err == nil {
			a.recordCreated(s, x.Key(), func() error { return s.deleteAddress(x) })
			a.made6(s, x)
		}
		return err
	})
}

// sameAddress corrects the prefix length of an IPv6 address. The kernel accepts an IPv6 address
// only once per interface, whatever its prefix.
func (a *attempt) sameAddress(s *session, x heddle.Address) error {
	if x.Prefix.Addr().Is4() {
		return nil
	}
	index, err := s.ifindex(x.Link)
	if err != nil {
		return err
	}
	live, err := s.addresses(index)
	if err != nil {
		return err
	}
	for _, l := range live {
		if l.prefix.Addr() == x.Prefix.Addr() && l.prefix != x.Prefix {
			old := heddle.Address{Link: x.Link, Prefix: l.prefix}
			a.recordUndo(x.Key(), func() error { return s.swapAddress(x, old) })
			a.made6(s, x)
			return s.swapAddress(old, x)
		}
	}
	return nil
}

func (s *session) deleteAddress(x heddle.Address) error {
	r, err := s.addressRequest(unix.RTM_DELADDR, 0, x)
	if err != nil {
		return err
	}
	return s.rt.execute(r)
}

func (s *session) swapAddress(old, new heddle.Address) error {
	r, err := s.addressRequest(unix.RTM_NEWADDR, excl, new)
	if err != nil {
		return err
	}
	if err := s.deleteAddress(old); err != nil && !absent(err) {
		return err
	}
	return s.rt.execute(r)
}

// dropAddresses removes the interface's addresses that are not among keep.
func (s *session) dropAddresses(index int, keep []addressAt) error {
	live, err := s.addresses(index)
	for _, l := range live {
		if slices.Contains(keep, l) {
			continue
		}
		for name, i := range s.index {
			if i == index {
				err = errors.Join(err, s.deleteAddress(heddle.Address{Link: name, Prefix: l.prefix}))
			}
		}
	}
	return err
}

func (addressKind) compare(d *differ, want *heddle.State) error {
	live, err := d.s.addresses(0)
	if err != nil {
		return err
	}
	there := map[addressAt]bool{}
	for _, a := range live {
		there[a] = true
	}
	return each(want.Addresses, func(a heddle.Address) error {
		if !there[addressAt{d.index(a.Link), a.Prefix}] {
			return d.missing(a)
		}
		return nil
	})
}

func (addressKind) remove(r *removal, s *session, gone *heddle.State) {
	for _, x := range slices.Backward(gone.Addresses) {
		r.step(s, x.Key(), x.Link, func() error { return s.deleteAddress(x) })
	}
}

// addressRequest is an RTM_NEWADDR or RTM_DELADDR request about an address.
func (s *session) addressRequest(kind, flags int, a heddle.Address) (*nl.NetlinkRequest, error) {
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
		// Duplicate address detection would keep the address unusable for a second. The allocator
		// has excluded duplicates.
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

// addressAt is an address with the index of its interface.
type addressAt struct {
	index  int
	prefix netip.Prefix
}

// addresses lists the addresses of one interface; index 0 means all interfaces.
func (s *session) addresses(index int) ([]addressAt, error) {
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
	raw := at.get(unix.IFA_LOCAL)
	if raw == nil {
		raw = at.get(unix.IFA_ADDRESS) // IPv6 has no other attribute
	}
	ip, ok := netip.AddrFromSlice(raw)
	if !ok {
		return addressAt{}, false
	}
	head := nl.DeserializeIfAddrmsg(b)
	return addressAt{index: int(head.Index), prefix: netip.PrefixFrom(ip, int(head.Prefixlen))}, true
}
