package kernel

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// forwardKind are the static entries in the forwarding tables of bridges and tunnels.
type forwardKind struct{ unmarked }

func (forwardKind) make(a *attempt, s *session, want *heddle.State) error {
	return each(want.Forwards, func(x heddle.Forward) error { return a.forward(s, x) })
}

func (a *attempt) forward(s *session, x heddle.Forward) error {
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
			a.recordCreated(s, x.Key(), func() error { return s.deleteForward(x) })
		}
		return err
	})
}

// sameForward takes over an entry that leads to another port or was learned.
func (a *attempt) sameForward(s *session, x heddle.Forward, index int) error {
	old, err := one(s.rt, forwardRequest(unix.RTM_GETNEIGH, 0, index, x, 0), decodeEntry)
	if err != nil || old != nil && old.static() && old.index == index {
		return err
	}
	replace := func(index, state int) error {
		return s.rt.execute(forwardRequest(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, index, x, state))
	}
	a.recordUndo(x.Key(), func() error {
		if old == nil {
			return s.deleteForward(x)
		}
		// The kernel reports states that it does not accept in a request, such as stale.
		return replace(old.index, old.state|unix.NUD_REACHABLE)
	})
	return replace(index, staticForward)
}

// sameTunnelForward replaces, in one step, an entry that leads to another end of the tunnel.
func (a *attempt) sameTunnelForward(s *session, x heddle.Forward, index int) error {
	old, err := one(s.rt, forwardRequest(unix.RTM_GETNEIGH, 0, index, x, 0), decodeEntry)
	if err != nil || old != nil && old.leads(x.Dst) {
		return err
	}
	const replace = unix.NLM_F_CREATE | unix.NLM_F_REPLACE
	a.recordUndo(x.Key(), func() error {
		if old == nil {
			return s.deleteForward(x)
		}
		return s.rt.execute(old.again(replace, index))
	})
	return s.rt.execute(forwardRequest(unix.RTM_NEWNEIGH, replace, index, x, tunnelForward))
}

func (s *session) deleteForward(x heddle.Forward) error {
	index, err := s.ifindex(x.Link)
	if err != nil {
		return err
	}
	return s.rt.execute(forwardRequest(unix.RTM_DELNEIGH, 0, index, x, 0))
}

func (forwardKind) compare(d *differ, want *heddle.State) error {
	live, err := d.s.forwards()
	if err != nil {
		return err
	}
	type id struct {
		index int
		mac   heddle.MAC
		self  bool
	}
	there := map[id]entry{}
	for _, e := range live {
		there[id{e.index, e.mac, e.self}] = e
	}
	return each(want.Forwards, func(f heddle.Forward) error {
		have, ok := there[id{d.index(f.Link), f.MAC, f.Dst.IsValid()}]
		switch {
		case !ok:
			return d.missing(f)
		case f.Dst.IsValid() && !have.leads(f.Dst):
			return d.differs(f, "want %s permanent, have %s permanent %v with %d settings of its own", f.Dst, have.addr, have.permanent(), len(have.aside))
		}
		return nil
	})
}

func (forwardKind) remove(r *removal, s *session, gone *heddle.State) {
	for _, x := range slices.Backward(gone.Forwards) {
		r.step(s, x.Key(), x.Link, func() error { return s.deleteForward(x) })
	}
}

// staticForward is the state of an entry that bridge(8) calls static: the entry is not learned, and
// is not the port's own address.
const staticForward = unix.NUD_NOARP | unix.NUD_REACHABLE

// tunnelForward is the state of a tunnel's entry that neither ageing nor packets change.
const tunnelForward = unix.NUD_NOARP | unix.NUD_PERMANENT

// forwardRequest is a request about an entry of a forwarding table. NTF_MASTER addresses the port's
// bridge, NTF_SELF the tunnel's own table.
func forwardRequest(kind, flags, index int, x heddle.Forward, state int) *nl.NetlinkRequest {
	head := &netlink.Ndmsg{Family: unix.AF_BRIDGE, Index: uint32(index), Flags: netlink.NTF_MASTER}
	if x.Dst.IsValid() {
		head.Flags = netlink.NTF_SELF
	}
	if kind == unix.RTM_NEWNEIGH {
		head.State = uint16(state)
	}
	r := request(kind, flags, head)
	r.AddData(nl.NewRtAttr(netlink.NDA_LLADDR, x.MAC.Bytes()))
	if kind == unix.RTM_NEWNEIGH && x.Dst.IsValid() {
		r.AddData(nl.NewRtAttr(netlink.NDA_DST, x.Dst.AsSlice()))
	}
	return r
}

// again is an RTM_NEWNEIGH request that restores an entry of a tunnel.
func (e entry) again(flags, index int) *nl.NetlinkRequest {
	r := forwardRequest(unix.RTM_NEWNEIGH, flags, index, heddle.Forward{MAC: e.mac, Dst: e.addr}, e.state)
	for kind, v := range e.aside {
		r.AddData(nl.NewRtAttr(int(kind), v))
	}
	return r
}

// forwards lists the static entries of all bridges and tunnels. Beside the requested entry, a
// bridge keeps one for each of its VLANs; these are left out.
func (s *session) forwards() ([]entry, error) {
	return list(s.rt, func() *nl.NetlinkRequest {
		return request(unix.RTM_GETNEIGH, 0, &netlink.Ndmsg{Family: unix.AF_BRIDGE})
	}, func(b []byte) (entry, bool) {
		e, ok := decodeEntry(b)
		return e, ok && (e.self && e.addr.IsValid() || e.static() && !e.vlan && !e.self)
	})
}
