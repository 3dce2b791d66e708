package kernel

import (
	"errors"
	"fmt"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// side tells the two namespaces apart in the keys of fresh.
func (s *session) side() string {
	if s.pod {
		return "pod/"
	}
	return "host/"
}

// link makes an interface, or takes over an existing one if it is ours, and gives it its settings.
// The far end of a pair is made with the near end.
func (a *attempt) link(s *session, l heddle.Link) error {
	if l.Kind == "" {
		return nil
	}
	before := len(a.failed)
	defer func() { a.unset[s.side()+l.Name] = len(a.failed) > before }()
	if far := l.Kind == "veth" && l.Peer == ""; !far {
		if err := a.step("make", l.Key(), func() error { return a.create(s, l) }); err != nil {
			return err
		}
	}
	return a.step("set", l.Key(), func() error { return a.settle(s, l) })
}

func (a *attempt) create(s *session, l heddle.Link) error {
	far, peerNS, farSide := a.farEnd(l)
	if l.PeerNetns != "" {
		ns, err := OpenNetns(l.PeerNetns)
		if err != nil {
			return heddle.Errorf(heddle.BadNamespace, "make interface", l.Peer, heddle.CauseOf(err), "start the agent whose namespace "+l.PeerNetns+" is")
		}
		defer ns.Close()
		far, peerNS, farSide = heddle.Link{Name: l.Peer}, ns, "elsewhere/"
	}
	master, err := s.master(l)
	if err != nil {
		return err
	}
	below, err := a.below(s, l)
	if err != nil {
		return err
	}
	if err := a.soleSubmode(l, below.index); err != nil {
		return err
	}
	if l.Kind == "tun" {
		err = s.createTAP(l)
	} else if below.elsewhere {
		err = s.createOnParent(l, below)
	} else {
		err = s.rt.execute(createLink(l, far, master, peerNS, below))
	}
	switch {
	case exists(err):
		return a.explainExists(s, l, farSide)
	case errors.Is(err, unix.EOPNOTSUPP):
		return heddle.Wrap(heddle.NotOnKernel, "make a "+l.Kind+" device", l.Key(), err, "load the kernel's module, if it has one ('modprobe "+l.Kind+"')")
	case err != nil:
		return onParent(l, err)
	}
	delete(s.index, l.Name)
	a.fresh[s.side()+l.Name] = true
	if l.Peer != "" {
		a.fresh[farSide+l.Peer] = true
	}
	a.recordCreated(s, l.Key(), func() error {
		index, err := s.ifindex(l.Name)
		if err != nil {
			return err
		}
		return s.delete(index)
	})
	return nil
}

// farEnd finds the far end of a pair in either namespace.
func (a *attempt) farEnd(l heddle.Link) (far heddle.Link, ns *Netns, side string) {
	links, side := a.plan.Host.Links, "host/"
	if l.PeerInPod {
		links, side, ns = a.plan.Pod.Links, "pod/", a.podNS
	}
	for _, far := range links {
		if far.Name == l.Peer {
			return far, ns, side
		}
	}
	return heddle.Link{Name: l.Peer}, ns, side
}

// master resolves the bridge that the link shall be a port of.
func (s *session) master(l heddle.Link) (int, error) {
	if l.Master == "" {
		return 0, nil
	}
	index, err := s.ifindex(l.Master)
	if err != nil {
		return 0, fmt.Errorf("bridge %s: %w", l.Master, err)
	}
	return index, nil
}

// settle sets the settings of an interface that are not as wanted.
func (a *attempt) settle(s *session, l heddle.Link) error {
	have, err := a.current(s, l)
	if err != nil {
		return err
	}
	want, err := s.wanted(l, have)
	if err != nil {
		return err
	}
	if have.kind == "vxlan" && have.tunnel.lasting() != want.tunnel.lasting() {
		return a.remake(s, l.Key(), have, want)
	}
	if len(changeLink(have.index, have, want)) == 0 && have.tunnel.soft == want.tunnel.soft {
		return nil
	}
	// Recorded first: some of several changes may succeed. A new link is undone as a whole.
	if !a.fresh[s.side()+l.Name] {
		a.recordUndo(l.Key(), func() error { return s.change(have.index, want, have) })
	}
	return s.change(have.index, have, want)
}

// change turns an existing link from one state into another.
func (s *session) change(index int, from, to linkState) error {
	if reqs := changeLink(index, from, to); len(reqs) > 0 {
		if err := s.rt.execute(reqs...); err != nil {
			return err
		}
	}
	if from.tunnel.soft == to.tunnel.soft {
		return nil
	}
	return s.setSoftChecksums(to.name, to.tunnel.soft)
}

// wanted is the state that the link should have: what the plan says, and otherwise what the link
// has.
func (s *session) wanted(l heddle.Link, have linkState) (linkState, error) {
	want := have
	var err error
	if want.master, err = s.master(l); err != nil {
		return want, err
	}
	if l.MTU != 0 {
		want.mtu = l.MTU
	}
	if l.MAC != "" {
		want.mac = l.MAC
	}
	if l.Group != 0 {
		want.group = l.Group
	}
	if l.Alias != "" {
		want.alias = l.Alias
	}
	if l.NoAutoAddress && hasIPv6() {
		carries, err := s.carriesIPv6(want)
		if err != nil {
			return want, err
		}
		want.noAuto = carries || want.noAuto
	}
	if l.Port != nil {
		want.port = l.Port
	}
	if l.GSOMax != 0 && have.gso != 0 {
		want.gso = l.GSOMax
	}
	want.snooping = false
	want.submode = submodes[l.SubMode]
	want.tunnel = tunnelOf(l.Tunnel)
	return want, nil
}

// current is the link as it is. The state of a link made by this call is known, so it
// need not be read, but for that of a TAP device.
func (a *attempt) current(s *session, l heddle.Link) (linkState, error) {
	if a.fresh[s.side()+l.Name] && l.Kind != "tun" {
		index, err := s.ifindex(l.Name)
		if err != nil {
			return linkState{}, err
		}
		born := linkState{index: index, name: l.Name, kind: l.Kind, mtu: birthMTU(l), mac: l.MAC, group: l.Group, submode: submodes[l.SubMode], gso: l.GSOMax}
		born.tunnel = tunnelOf(l.Tunnel)
		born.tunnel.soft = false
		if l.Peer != "" {
			born.master, err = s.master(l)
		}
		return born, err
	}
	live, err := s.link(l.Name)
	if err == nil && live != nil && live.kind == "vxlan" {
		live.tunnel.soft, err = s.softChecksums(l.Name)
	}
	if err != nil {
		return linkState{}, err
	}
	return a.checkOwned(s, l, live)
}
