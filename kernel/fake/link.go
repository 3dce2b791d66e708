package fake

import (
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// link makes an interface, or takes the one that is there if it is ours, and gives it its
// settings. The far end of a pair was made with the near one.
func (a *attempt) link(s side, l heddle.Link) error {
	if l.Kind == "" {
		return nil
	}
	if far := l.Kind == "veth" && l.Peer == ""; !far {
		if err := a.step("make", l.Key(), func() error { return a.create(s, l) }); err != nil {
			return err
		}
	}
	return a.step("set", l.Key(), func() error { return a.settle(s, l) })
}

// create makes an interface that is not there, down and without an alias.
func (a *attempt) create(s side, l heddle.Link) error {
	if err := s.lacksLink(l.Master); err != nil {
		return err
	}
	parent := a.k.host.own.links[l.Parent]
	if l.Parent != "" && parent == nil {
		return unix.ENODEV
	}
	if s.links[l.Name] != nil {
		return nil // settle will judge it
	}
	farSide := a.sides[0]
	if l.PeerInPod {
		farSide = a.sides[1]
	}
	if l.Peer != "" && farSide.links[l.Peer] != nil {
		if farSide.pod {
			return heddle.Errorf(heddle.IfNameTaken, "make interface", l.Peer, "the container has an interface of that name", "choose another name with --ifname")
		}
		return heddle.Errorf(heddle.KernelRefused, "make interface", l.Peer, "an interface that is not heddle's has the name", "rename or remove it")
	}
	near := &link{Link: bare(l), parent: parent}
	near.Master = l.Master
	s.add(near)
	a.fresh[near] = true
	if l.Peer != "" {
		near.far = &link{Link: heddle.Link{Name: l.Peer, Kind: l.Kind}, far: near}
		farSide.add(near.far)
		a.fresh[near.far] = true
	}
	a.recordCreated(s, l.Key(), func() { s.drop(near) })
	return nil
}

// bare is a link as it is created: without its alias and its port's switches.
func bare(l heddle.Link) heddle.Link {
	l.Alias, l.Port, l.Master, l.NoAutoAddress, l.Down = "", nil, "", false, false
	return l
}

// settle gives an interface the settings that are not as wanted.
func (a *attempt) settle(s side, l heddle.Link) error {
	have := s.links[l.Name]
	if err := a.checkOwned(s, l, have); err != nil {
		return err
	}
	if err := s.lacksLink(l.Master); err != nil {
		return err
	}
	was, want := have.Link, wanted(have.Link, l)
	if heddle.Same(was, want) {
		return nil
	}
	have.Link = want
	if !a.fresh[have] { // a new link is undone as a whole
		a.recordUndo(l.Key(), func() { have.Link = was })
	}
	return nil
}

// checkOwned refuses links that are not ours, or cannot become what is wanted.
func (a *attempt) checkOwned(s side, l heddle.Link, have *link) error {
	if have == nil {
		return heddle.Errorf(heddle.KernelRefused, "find interface", l.Name,
			"the other end of its veth pair is there, but this end was moved or renamed", "detach and attach again")
	}
	if a.fresh[have] {
		return nil
	}
	pairs := func(near heddle.Link) bool {
		return near.Peer == l.Name && near.PeerInPod == s.pod && have.far != nil && have.far == a.sides[0].links[near.Name]
	}
	mine := have.isOurs() || l.Peer == "" && slices.ContainsFunc(a.plan.Host.Links, pairs)
	switch {
	case have.Alias != "" && !heddle.SameOwner(have.Alias, l.Alias), !mine:
		code := heddle.KernelRefused
		if s.pod {
			code = heddle.IfNameTaken
		}
		return heddle.Errorf(code, "take over interface", l.Name, fmt.Sprintf("it is not heddle's (alias %q)", have.Alias),
			"rename or remove it, or choose another name")
	case have.Kind != l.Kind:
		return heddle.Errorf(heddle.KernelRefused, "take over interface", l.Name,
			fmt.Sprintf("it is of kind %q and should be of kind %q", have.Kind, l.Kind), "remove it")
	}
	return nil
}

// wanted is the state that the link should have: what the plan says, and otherwise what the link
// has.
func wanted(have, l heddle.Link) heddle.Link {
	want := l
	if l.MTU == 0 {
		want.MTU = have.MTU
	}
	if l.MAC == "" {
		want.MAC = have.MAC
	}
	if l.Group == 0 {
		want.Group = have.Group
	}
	if l.Alias == "" {
		want.Alias = have.Alias
	}
	if l.Port == nil {
		want.Port = have.Port
	}
	if l.GSOMax == 0 {
		want.GSOMax = have.GSOMax
	}
	want.NoAutoAddress = l.NoAutoAddress || have.NoAutoAddress
	return want
}

// raise brings an interface up.
func (a *attempt) raise(s side, l heddle.Link) error {
	if l.Down {
		return nil
	}
	return a.step("raise", l.Key(), func() error {
		have := s.links[l.Name]
		switch {
		case have == nil:
			return unix.ENODEV
		case have.up:
			return nil
		}
		have.up = true
		a.recordUndo(l.Key(), func() { have.up = false })
		return nil
	})
}
