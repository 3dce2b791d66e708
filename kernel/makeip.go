package kernel

import (
	"errors"
	"fmt"
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
			a.did(x.Key(), func() error { return s.deleteAddress(x) })
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

func (a *attempt) neighbour(s *site, x heddle.Neighbour) error {
	return a.step("make", x.Key(), func() error {
		add, err := s.neighbourRequest(unix.RTM_NEWNEIGH, excl, x)
		if err != nil {
			return err
		}
		err = s.rt.execute(add)
		if exists(err) {
			return a.sameNeighbour(s, x)
		}
		if err == nil {
			a.did(x.Key(), func() error { return s.deleteNeighbour(x) })
		}
		return err
	})
}

func (a *attempt) sameNeighbour(s *site, x heddle.Neighbour) error {
	get, err := s.neighbourRequest(unix.RTM_GETNEIGH, 0, x)
	if err != nil {
		return err
	}
	old, err := s.one(get)
	if err != nil || old != nil && old.permanent() && old.mac == x.MAC {
		return err
	}
	a.did(x.Key(), func() error {
		if old == nil || !old.permanent() {
			return s.deleteNeighbour(x)
		}
		return s.replaceNeighbour(heddle.Neighbour{Link: x.Link, Addr: x.Addr, MAC: old.mac})
	})
	return s.replaceNeighbour(x)
}

func (s *site) deleteNeighbour(x heddle.Neighbour) error {
	r, err := s.neighbourRequest(unix.RTM_DELNEIGH, 0, x)
	if err != nil {
		return err
	}
	return s.rt.execute(r)
}

func (s *site) replaceNeighbour(x heddle.Neighbour) error {
	r, err := s.neighbourRequest(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, x)
	if err != nil {
		return err
	}
	return s.rt.execute(r)
}

func (a *attempt) forward(s *site, x heddle.Forward) error {
	return a.step("make", x.Key(), func() error {
		index, err := s.ifindex(x.Link)
		if err != nil {
			return err
		}
		err = s.rt.execute(forwardRequest(unix.RTM_NEWNEIGH, excl, index, x.MAC, staticForward))
		if exists(err) {
			return a.sameForward(s, x, index)
		}
		if err == nil {
			a.did(x.Key(), func() error { return s.deleteForward(x) })
		}
		return err
	})
}

// sameForward takes an entry over that leads to another port or was learned.
func (a *attempt) sameForward(s *site, x heddle.Forward, index int) error {
	old, err := s.one(forwardRequest(unix.RTM_GETNEIGH, 0, index, x.MAC, 0))
	if err != nil || old != nil && old.static() && old.index == index {
		return err
	}
	replace := func(index, state int) error {
		return s.rt.execute(forwardRequest(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, index, x.MAC, state))
	}
	a.did(x.Key(), func() error {
		if old == nil {
			return s.deleteForward(x)
		}
		// The kernel shows states that it does not take, such as stale.
		return replace(old.index, old.state|unix.NUD_REACHABLE)
	})
	return replace(index, staticForward)
}

func (s *site) deleteForward(x heddle.Forward) error {
	index, err := s.ifindex(x.Link)
	if err != nil {
		return err
	}
	return s.rt.execute(forwardRequest(unix.RTM_DELNEIGH, 0, index, x.MAC, 0))
}

func (a *attempt) route(s *site, x heddle.Route) error {
	return a.step("make", x.Key(), func() error {
		r, err := s.at(x)
		if err != nil {
			return err
		}
		err = s.rt.execute(routeRequest(unix.RTM_NEWROUTE, excl, r))
		if exists(err) {
			return a.sameRoute(s, r)
		}
		if err == nil {
			a.did(x.Key(), func() error { return s.rt.execute(routeRequest(unix.RTM_DELROUTE, 0, r)) })
		}
		return err
	})
}

// sameRoute replaces a route of ours that leads elsewhere. Deleting it and
// making the new one go in one send; NLM_F_REPLACE would take whichever route
// comes first, also a stranger's.
func (a *attempt) sameRoute(s *site, r routeAt) error {
	live, err := s.routes()
	if err != nil {
		return err
	}
	for _, old := range live {
		if idOf(old.Route) != idOf(r.Route) {
			continue
		}
		if old.same(r) {
			return nil
		}
		swap := func(from, to routeAt) error {
			return s.rt.execute(routeRequest(unix.RTM_DELROUTE, 0, from), routeRequest(unix.RTM_NEWROUTE, excl, to))
		}
		a.did(r.Key(), func() error { return swap(r, old) })
		return swap(old, r)
	}
	return fmt.Errorf("another route to %s with this metric is there, and it is not ours", r.Dst)
}

// rule makes a policy rule. The kernel takes a second rule that differs only in
// its table, so rules of ours that are in the way are removed; where this call
// has made a link, its endpoint is new and there can be none, which keeps an
// attach from listing all rules.
func (a *attempt) rule(s *site, x heddle.Rule) error {
	return a.step("make", x.Key(), func() error {
		err := s.rt.execute(ruleRequest(unix.RTM_NEWRULE, excl, x))
		if err == nil {
			a.did(x.Key(), func() error { return s.rt.execute(ruleRequest(unix.RTM_DELRULE, 0, x)) })
		}
		if err != nil && !exists(err) || len(a.fresh) > 0 {
			return ignoreExists(err)
		}
		live, err := s.rules()
		for _, old := range live {
			if old.Key() != x.Key() || old == x {
				continue
			}
			a.did(x.Key(), func() error { return s.rt.execute(ruleRequest(unix.RTM_NEWRULE, excl, old)) })
			err = errors.Join(err, s.rt.execute(ruleRequest(unix.RTM_DELRULE, 0, old)))
		}
		return err
	})
}

func ignoreExists(err error) error {
	if exists(err) {
		return nil
	}
	return err
}
