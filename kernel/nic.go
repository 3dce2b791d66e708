package kernel

import (
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// nicKind are the NICs of the host that a container gets.
type nicKind struct{ unmarked }

func (nicKind) make(a *attempt, _ *session, want *heddle.State) error { return each(want.NICs, a.nic) }

// compare checks that the NIC is in the container, under its name and with its MAC address.
func (nicKind) compare(d *differ, want *heddle.State) error {
	return each(want.NICs, func(n heddle.NIC) error {
		if n.Device != nil {
			return d.device(n)
		}
		for _, l := range d.links {
			switch {
			case l.alias != n.Alias:
			case l.name != n.IfName:
				return d.differs(n, "want name %s, have %s", n.IfName, l.name)
			case l.mac != n.MAC:
				return d.differs(n, "want mac %s, have %s", n.MAC, l.mac)
			default:
				return nil
			}
		}
		return d.missing(n)
	})
}

// remove brings NICs back.
func (nicKind) remove(r *removal, s *session, gone *heddle.State) {
	for _, n := range gone.NICs {
		if r.tripped {
			return
		}
		if n.Device != nil {
			r.device(n)
			continue
		}
		err, tripped := (&nicReturn{k: r.k, n: n, host: r.host, pod: s, trip: r.k.trip}).run()
		r.err, r.tripped = errors.Join(r.err, err), tripped
	}
}

// nic moves a NIC of the host into the container. It marks the NIC first, so that the NIC is
// recognised wherever it is, whatever happens later.
func (a *attempt) nic(n heddle.NIC) error {
	if n.Device != nil {
		return a.device(n)
	}
	inside, err := a.pod.marked(n)
	if err != nil || inside != nil && inside.name == n.IfName {
		return refused("find", n.Key(), err)
	}
	live, err := a.host.nicAtHome(n)
	if err != nil {
		return err
	}
	taken, err := a.pod.link(n.IfName)
	if err != nil {
		return refused("find", n.Key(), err)
	}
	if taken != nil {
		return heddle.Errorf(heddle.IfNameTaken, "move NIC", n.Name+" to interface "+n.IfName, "the container has an interface of that name",
			"choose another name with --ifname")
	}
	mark := func() error { return a.host.rt.execute(aliasRequest(live.index, n.Alias)) }
	if err := a.step("mark", n.Key(), mark); err != nil {
		return err
	}
	left := false
	a.recordUndo(n.Key(), func() error {
		err, _ := (&nicReturn{k: a.k, n: n, host: a.host, pod: a.pod, stayed: !left}).run()
		return err
	})
	lower := func() error { return a.host.rt.execute(raiseLink(live.index, false)) }
	if err := a.step("lower", n.Key(), lower); err != nil {
		return err
	}
	return a.step("move", n.Key(), func() error {
		delete(a.host.index, n.Name)
		a.fresh["pod/"+n.IfName] = true
		left = true
		return a.host.rt.execute(moveRequest(live.index, a.podNS, n.IfName, 0))
	})
}

// nicAtHome finds the NIC on the host.
func (s *session) nicAtHome(n heddle.NIC) (*linkState, error) {
	live, err := s.marked(n)
	if err == nil && live == nil {
		live, err = s.link(n.Name)
	}
	switch {
	case err != nil:
		return nil, refused("find", n.Key(), err)
	case live == nil || live.mac != n.MAC:
		return nil, heddle.Errorf(heddle.NICTaken, "find NIC", n.Name+" ("+string(n.MAC)+")", "it is not on the host any more",
			"name a NIC that is on the host ('ip link' lists them)")
	case live.alias != n.Alias:
		if err := s.checkMovable(*live); err != nil {
			return nil, heddle.Wrap(heddle.NICUnfit, "give away NIC", n.Name, err, "name another one")
		}
	}
	return live, nil
}

// marked finds the NIC by its alias; nil if it is not here. A container's administrator may copy
// the alias to another interface, which has another kind or another index.
func (s *session) marked(n heddle.NIC) (found *linkState, err error) {
	if s == nil || n.Alias == "" {
		return nil, nil
	}
	all, err := s.links()
	for _, l := range all {
		if l.alias == n.Alias && l.kind == n.Was.Kind && (found == nil || l.index == n.Was.Index) {
			found = &l
		}
	}
	return found, err
}

// disguised finds the NIC in a container whose administrator has given it another alias: by its MAC
// address, by its index, which a move keeps if it can, or by its name.
func (s *session) disguised(n heddle.NIC) (*linkState, error) {
	if s == nil {
		return nil, nil
	}
	all, err := s.links()
	for _, is := range []func(linkState) bool{
		func(l linkState) bool { return l.mac == n.MAC || l.permanent == n.MAC },
		func(l linkState) bool { return l.index == n.Was.Index },
		func(l linkState) bool { return l.name == n.IfName },
	} {
		for _, l := range all {
			_, _, another := heddle.ParseNICAlias(l.alias)
			if is(l) && !another && !l.ours() && l.kind == n.Was.Kind {
				return &l, err
			}
		}
	}
	return nil, err
}

// home reports whether the NIC is on the host: it never left, or it has returned.
func (s *session) home(n heddle.NIC) (bool, error) {
	all, err := s.links()
	return slices.ContainsFunc(all, func(l linkState) bool {
		was, endpoint, _ := heddle.ParseNICAlias(l.alias)
		return l.mac == n.MAC && (l.name == n.Name || was == n.Name && endpoint == "")
	}), err
}

// moveRequest moves an interface to another namespace and gives it a name there in one transaction.
// It also sets the index if newIndex is not 0.
func moveRequest(index int, to *Netns, name string, newIndex int) *nl.NetlinkRequest {
	r := request(unix.RTM_NEWLINK, 0, indexed(index))
	r.AddData(numberAttr(unix.IFLA_NET_NS_FD, uint32(to.fd)))
	r.AddData(textAttr(unix.IFLA_IFNAME, name))
	if newIndex != 0 {
		r.AddData(numberAttr(unix.IFLA_NEW_IFINDEX, uint32(newIndex)))
	}
	return r
}

func renameRequest(index int, name string) *nl.NetlinkRequest {
	r := request(unix.RTM_NEWLINK, 0, indexed(index))
	r.AddData(textAttr(unix.IFLA_IFNAME, name))
	return r
}

func aliasRequest(index int, alias string) *nl.NetlinkRequest {
	r := request(unix.RTM_NEWLINK, 0, indexed(index))
	r.AddData(nl.NewRtAttr(unix.IFLA_IFALIAS, []byte(alias)))
	return r
}

// MarkNIC marks a NIC on the host that somebody else is about to move.
func (k *Kernel) MarkNIC(n heddle.NIC) error {
	live, err := k.hostSession().nicAtHome(n)
	if err != nil {
		return err
	}
	if err := k.trip("mark", n.Key()); err != nil {
		return err
	}
	return refused("mark", n.Key(), k.rt.execute(aliasRequest(live.index, n.Alias)))
}
