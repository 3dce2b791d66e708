package lab

import (
	"cmp"
	"context"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/impair"
)

// Impair sets what happens to the frames of a wire (HOST, HOST:ethN, or a switch for all its
// wires) in one direction or both, and starts again from the seed. The zero Impairment is a
// wire without faults.
func (l *Lab) Impair(ctx context.Context, name string, d Direction, i impair.Impairment) error {
	if err := i.Check(); err != nil {
		return err
	}
	if err := d.check(); err != nil {
		return err
	}
	return l.eachWire(ctx, "impair", name, func(w wire, f *WireFault) error {
		if d != In {
			f.Out = i
		}
		if d != Out {
			f.In = i
		}
		if !f.relayed() {
			return w.takeRelay(ctx)
		}
		if err := w.putRelay(ctx, w.mtu(f)); err != nil {
			return err
		}
		_, err := w.callRelay(&settings{f.Out, f.In})
		return err
	})
}

// SetRate sets the rate of a wire, or of all wires of a switch, in both directions. 0 means
// the rate that it was made with.
func (l *Lab) SetRate(ctx context.Context, name string, r impair.Rate) error {
	if err := r.Check(); err != nil {
		return err
	}
	return l.eachWire(ctx, "set rate of", name, func(w wire, f *WireFault) error {
		f.Rate = r
		bits := cmp.Or(r, w.spec.Rate).Bits()
		return w.ends(func(sw, host *namespace) error {
			if err := sw.setLimit(w.port, bits, w.mtu(f)); err != nil {
				return err
			}
			return host.setLimit(w.nic, bits, w.mtu(f))
		})
	})
}

// SetMTU changes the MTU of a wire, or of all wires of a switch, at both ends. 0 means the MTU
// that it was made with. A hidden MTU is changed at the switch's end only: larger frames
// vanish, and the host is not told.
func (l *Lab) SetMTU(ctx context.Context, name string, mtu int, hidden bool) error {
	if mtu != 0 {
		if err := checkMTU(mtu); err != nil {
			return err
		}
	}
	if mtu != 0 && !hidden {
		if err := l.checkHostMTU(name, mtu); err != nil {
			return err
		}
	}
	return l.eachWire(ctx, "set MTU of", name, func(w wire, f *WireFault) error {
		f.MTU, f.Hidden = mtu, hidden && mtu != 0
		return w.ends(func(sw, host *namespace) error {
			near := w.mtu(f)
			if err := sw.keepIPv6(w.sw, near); err != nil {
				return err
			}
			far := near
			if f.Hidden {
				far = w.spec.MTU
			}
			if err := w.setHostMTU(ctx, host, far); err != nil {
				return err
			}
			if f.relayed() {
				if err := sw.setMTU(relayPort(w.port), near); err != nil {
					return err
				}
			}
			return sw.setMTU(w.port, near)
		})
	})
}

// checkHostMTU refuses, before any wire is changed, an MTU with which the kernel would take
// the IPv6 addresses off one of the hosts.
func (l *Lab) checkHostMTU(name string, mtu int) error {
	all, err := l.wires(name)
	if err != nil {
		return err
	}
	for _, w := range all {
		if err := checkMTU(mtu, w.spec.Addresses...); err != nil {
			return err
		}
	}
	return nil
}

// setHostMTU changes the MTU of the wire's end at its host, and of the guest's NIC.
func (w wire) setHostMTU(ctx context.Context, host *namespace, mtu int) error {
	if err := host.setMTU(w.nic, mtu); err != nil || w.host.Machine == "" {
		return err
	}
	return w.host.send(ctx, request{Verb: verbMTU, Name: w.nic, Number: mtu})
}

func (s *namespace) setMTU(name string, mtu int) error {
	link, err := s.LinkByName(name)
	if err != nil {
		return err
	}
	return s.Handle.LinkSetMTU(link, mtu)
}

// mtu returns the current MTU of the switch's end of the wire.
func (w wire) mtu(f *WireFault) int {
	if f.MTU != 0 {
		return f.MTU
	}
	return w.spec.MTU
}

// eachWire calls do for all wires of that name.
func (l *Lab) eachWire(ctx context.Context, what, name string, do func(wire, *WireFault) error) error {
	return l.change(ctx, what, name, func(f *Faults) error {
		all, err := l.wires(name)
		if err != nil {
			return err
		}
		for _, w := range all {
			if err := do(w, f.wire(w.String())); err != nil {
				return heddle.Wrap(heddle.LabFailed, what, w.String(), err, "")
			}
		}
		f.dropEmpty()
		return nil
	})
}

// restoreWire gives a wire its original rate and MTU, without a relay.
func (l *Lab) restoreWire(ctx context.Context, name string) error {
	w, err := l.findWire(name)
	if err != nil {
		return err
	}
	if err := w.takeRelay(ctx); err != nil {
		return err
	}
	return w.ends(func(sw, host *namespace) error {
		if err := w.setHostMTU(ctx, host, w.spec.MTU); err != nil {
			return err
		}
		if err := sw.setMTU(w.port, w.spec.MTU); err != nil {
			return err
		}
		for _, end := range []struct {
			*namespace
			name string
		}{{sw, w.port}, {host, w.nic}} {
			if err := end.setLimit(end.name, w.spec.Rate.Bits(), w.spec.MTU); err != nil {
				return err
			}
		}
		return nil
	})
}
