package kernel

import (
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// belongings are the objects that depend on a tunnel device and are deleted with it.
type belongings struct {
	nic      heddle.NIC
	forwards []entry
	// sourced are our routes through other devices whose source address is on this device.
	sourced []routeAt
}

// remake replaces a VXLAN device in order to change settings that a live device cannot
// change. It restores the routes, neighbours and addresses of the old device: some
// belong to other plans, and the traffic of their containers must go on.
func (a *attempt) remake(s *session, key string, have, want linkState) error {
	was, err := s.readBelongings(have)
	if err != nil {
		return err
	}
	a.recordUndo(key, func() error { return s.exchangeTunnel(have, was) })
	return s.exchangeTunnel(want, was)
}

// exchangeTunnel makes a device, and replaces the device of the same name if there is one.
func (s *session) exchangeTunnel(to linkState, was belongings) error {
	live, err := s.link(to.name)
	if err != nil {
		return err
	}
	if live != nil {
		if err := s.delete(live.index); err != nil && !absent(err) {
			return err
		}
	}
	delete(s.index, to.name)
	if err := s.createTunnelDevice(to, was.nic.Was.Sysctls); err != nil {
		return err
	}
	return s.restoreBelongings(to, was)
}

// createTunnelDevice makes a VXLAN device with all its settings and the index of the earlier device. The new
// device is down.
func (s *session) createTunnelDevice(want linkState, sysctls []heddle.Sysctl) error {
	l := heddle.Link{Name: want.name, Kind: want.kind, MTU: want.mtu, MAC: want.mac, Group: want.group}
	if err := s.rt.execute(createTunnel(l, want.tunnel, want.index)); err != nil {
		return err
	}
	if err := s.putSysctls(want.name, sysctls); err != nil {
		return err
	}
	born := want
	born.alias, born.noAuto, born.tunnel.soft = "", false, false
	return s.change(want.index, born, want)
}

// readBelongings reads the belongings of a device.
func (s *session) readBelongings(l linkState) (belongings, error) {
	state, err := s.nicState(l)
	if err != nil {
		return belongings{}, err
	}
	all, err := s.forwards()
	b := belongings{nic: heddle.NIC{Name: l.name, MAC: l.mac, Was: state}}
	for _, e := range all {
		if e.index == l.index && e.self {
			b.forwards = append(b.forwards, e)
		}
	}
	routes, errRoutes := s.routes()
	for _, r := range routes {
		onIt := func(a heddle.NICAddress) bool { return a.Prefix.Addr() == r.Src }
		if r.index != l.index && slices.ContainsFunc(state.Addrs, onIt) {
			b.sourced = append(b.sourced, r)
		}
	}
	return b, errors.Join(err, errRoutes)
}

// restoreBelongings restores the belongings on a new device. Forwarding entries and neighbours come first, so
// that they are there when the device comes up.
func (s *session) restoreBelongings(l linkState, b belongings) error {
	var errs []error
	for _, e := range b.forwards {
		errs = append(errs, ignoreExists(s.rt.execute(e.again(excl, l.index))))
	}
	h := &nicReturn{n: b.nic, host: s, index: l.index, name: l.name}
	for _, do := range []func() error{h.addresses, h.up, h.neighbours, h.routes} {
		errs = append(errs, do())
	}
	for _, r := range b.sourced {
		errs = append(errs, ignoreExists(s.rt.execute(routeRequest(unix.RTM_NEWROUTE, excl, r))))
	}
	var wait settling
	for _, a := range b.nic.Was.Addrs {
		if b.nic.Was.Up && a.Prefix.Addr().Is6() {
			localAddress{s, a.Prefix.Addr(), l.index}.await(&wait)
		}
	}
	return errors.Join(errs...)
}
