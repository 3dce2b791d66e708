package kernel

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// neighbourKind are the permanent entries of the neighbour table.
type neighbourKind struct{ unmarked }

func (neighbourKind) make(a *attempt, s *session, want *heddle.State) error {
	return each(want.Neighbours, func(x heddle.Neighbour) error { return a.neighbour(s, x) })
}

func (a *attempt) neighbour(s *session, x heddle.Neighbour) error {
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
			a.recordCreated(s, x.Key(), func() error { return s.deleteNeighbour(x) })
		}
		return err
	})
}

func (a *attempt) sameNeighbour(s *session, x heddle.Neighbour) error {
	get, err := s.neighbourRequest(unix.RTM_GETNEIGH, 0, x)
	if err != nil {
		return err
	}
	old, err := one(s.rt, get, decodeEntry)
	if err != nil || old != nil && old.permanent() && old.mac == x.MAC {
		return err
	}
	a.recordUndo(x.Key(), func() error {
		if old == nil || !old.permanent() {
			return s.deleteNeighbour(x)
		}
		return s.replaceNeighbour(heddle.Neighbour{Link: x.Link, Addr: x.Addr, MAC: old.mac})
	})
	return s.replaceNeighbour(x)
}

func (s *session) deleteNeighbour(x heddle.Neighbour) error {
	r, err := s.neighbourRequest(unix.RTM_DELNEIGH, 0, x)
	if err != nil {
		return err
	}
	return s.rt.execute(r)
}

func (s *session) replaceNeighbour(x heddle.Neighbour) error {
	r, err := s.neighbourRequest(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, x)
	if err != nil {
		return err
	}
	return s.rt.execute(r)
}

func (neighbourKind) compare(d *differ, want *heddle.State) error {
	live, err := d.s.neighbours()
	if err != nil {
		return err
	}
	type id struct {
		index int
		addr  netip.Addr
	}
	there := map[id]entry{}
	for _, e := range live {
		there[id{e.index, e.addr}] = e
	}
	return each(want.Neighbours, func(n heddle.Neighbour) error {
		have, ok := there[id{d.index(n.Link), n.Addr}]
		switch {
		case !ok:
			return d.missing(n)
		case !have.permanent() || have.mac != n.MAC:
			return d.differs(n, "want %s permanent, have %s permanent %v", n.MAC, have.mac, have.permanent())
		}
		return nil
	})
}

func (neighbourKind) remove(r *removal, s *session, gone *heddle.State) {
	for _, x := range slices.Backward(gone.Neighbours) {
		r.step(s, x.Key(), x.Link, func() error { return s.deleteNeighbour(x) })
	}
}

// neighbourRequest is RTM_NEWNEIGH, RTM_DELNEIGH or RTM_GETNEIGH about a
// neighbour.
func (s *session) neighbourRequest(kind, flags int, n heddle.Neighbour) (*nl.NetlinkRequest, error) {
	index, err := s.ifindex(n.Link)
	if err != nil {
		return nil, err
	}
	head := &netlink.Ndmsg{Family: uint8(familyOf(n.Addr)), Index: uint32(index)}
	if kind == unix.RTM_NEWNEIGH {
		head.State = unix.NUD_PERMANENT
	}
	r := request(kind, flags, head)
	r.AddData(nl.NewRtAttr(netlink.NDA_DST, n.Addr.AsSlice()))
	if kind == unix.RTM_NEWNEIGH {
		r.AddData(nl.NewRtAttr(netlink.NDA_LLADDR, n.MAC.Bytes()))
	}
	return r, nil
}

// neighbours lists the tables of both families.
func (s *session) neighbours() ([]entry, error) {
	return list(s.rt, func() *nl.NetlinkRequest {
		return request(unix.RTM_GETNEIGH, 0, &netlink.Ndmsg{})
	}, func(b []byte) (entry, bool) {
		e, ok := decodeEntry(b)
		return e, ok && b[0] != unix.AF_BRIDGE && e.addr.IsValid()
	})
}
