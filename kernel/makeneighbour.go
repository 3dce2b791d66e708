package kernel

import (
	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

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
			a.born(s, x.Key(), func() error { return s.deleteNeighbour(x) })
		}
		return err
	})
}

func (a *attempt) sameNeighbour(s *site, x heddle.Neighbour) error {
	get, err := s.neighbourRequest(unix.RTM_GETNEIGH, 0, x)
	if err != nil {
		return err
	}
	old, err := one(s.rt, get, decodeEntry)
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
		state := staticForward
		if x.Dst.IsValid() {
			state = tunnelForward
		}
		err = s.rt.execute(forwardRequest(unix.RTM_NEWNEIGH, excl, index, x, state))
		switch {
		case exists(err) && x.Dst.IsValid():
			return a.sameTunnelForward(s, x, index)
		case exists(err):
			return a.sameForward(s, x, index)
		}
		if err == nil {
			a.born(s, x.Key(), func() error { return s.deleteForward(x) })
		}
		return err
	})
}

// sameForward takes an entry over that leads to another port or was learned.
func (a *attempt) sameForward(s *site, x heddle.Forward, index int) error {
	old, err := one(s.rt, forwardRequest(unix.RTM_GETNEIGH, 0, index, x, 0), decodeEntry)
	if err != nil || old != nil && old.static() && old.index == index {
		return err
	}
	replace := func(index, state int) error {
		return s.rt.execute(forwardRequest(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, index, x, state))
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

// sameTunnelForward replaces an entry that leads to another end of the tunnel, in
// one step for the packets.
func (a *attempt) sameTunnelForward(s *site, x heddle.Forward, index int) error {
	old, err := one(s.rt, forwardRequest(unix.RTM_GETNEIGH, 0, index, x, 0), decodeEntry)
	if err != nil || old != nil && old.leads(x.Dst) {
		return err
	}
	const replace = unix.NLM_F_CREATE | unix.NLM_F_REPLACE
	a.did(x.Key(), func() error {
		if old == nil {
			return s.deleteForward(x)
		}
		return s.rt.execute(old.again(replace, index))
	})
	return s.rt.execute(forwardRequest(unix.RTM_NEWNEIGH, replace, index, x, tunnelForward))
}

func (s *site) deleteForward(x heddle.Forward) error {
	index, err := s.ifindex(x.Link)
	if err != nil {
		return err
	}
	return s.rt.execute(forwardRequest(unix.RTM_DELNEIGH, 0, index, x, 0))
}
