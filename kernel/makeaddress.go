package kernel

import (
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// Every object is made with NLM_F_EXCL: one request where nothing is there, and
// only where something is it is read and compared.
const excl = unix.NLM_F_CREATE | unix.NLM_F_EXCL

func (a *attempt) address(s *site, x heddle.Address) error {
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
			a.born(s, x.Key(), func() error { return s.deleteAddress(x) })
			a.made6(s, x)
		}
		return err
	})
}

// sameAddress corrects the length of an IPv6 address's prefix: the kernel takes
// an address once, whatever its prefix.
func (a *attempt) sameAddress(s *site, x heddle.Address) error {
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
			a.did(x.Key(), func() error { return s.swapAddress(x, old) })
			a.made6(s, x)
			return s.swapAddress(old, x)
		}
	}
	return nil
}

func (s *site) deleteAddress(x heddle.Address) error {
	r, err := s.addressRequest(unix.RTM_DELADDR, 0, x)
	if err != nil {
		return err
	}
	return s.rt.execute(r)
}

func (s *site) swapAddress(old, new heddle.Address) error {
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
func (s *site) dropAddresses(index int, keep []addressAt) error {
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
