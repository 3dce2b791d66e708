package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
)

// reconcileEvery is how often devices and ports are compared, reconcileTime bounds one comparison.
const reconcileEvery, reconcileTime = 30 * time.Second, 2 * time.Minute

// keepReconciled has each machine's devices and ports compared again and again until ctx ends, and soon after a port of it has gone.
func (s *Service) keepReconciled(ctx context.Context) {
	var all sync.WaitGroup
	for _, g := range s.guests {
		all.Go(func() {
			s.keep(ctx, "not all devices compared with ports", g.compareSoon, func(ctx context.Context) error { return s.reconcile(ctx, g) })
		})
	}
	all.Go(func() { s.keep(ctx, "not all ports removed that no machine took over", nil, s.removeLeft) })
	all.Wait()
}

// keep does something again and again, and soon when it is asked for. It logs what failed when that changes: a machine may not run for long.
func (s *Service) keep(ctx context.Context, failed string, soon <-chan struct{}, do func(context.Context) error) {
	told := ""
	for ctx.Err() == nil {
		limited, done := context.WithTimeout(ctx, reconcileTime)
		err := do(limited)
		done()
		now := ""
		if err != nil && ctx.Err() == nil {
			now = err.Error()
		}
		if now != told && now != "" {
			s.log.Warn(failed, "error", err)
		}
		told = now
		select {
		case <-ctx.Done():
		case <-soon:
			pause(ctx, watchRest) // others may go just now
		case <-time.After(reconcileEvery):
		}
	}
}

// reconcile compares the limits of the machine's ports, and unplugs devices of ours that have no port: a service that was killed left them, or their ports were removed by hand. Ports
// without a device stay: the machine plugs them again, or unplugs them. It may run beside requests.
func (s *Service) reconcile(ctx context.Context, g *guest) error {
	leave, err := g.enter(ctx, "")
	if err != nil {
		return err
	}
	defer leave()
	limits := s.compareLimits(ctx, g) // whether the machine runs or not
	m, err := s.machines(g.name)
	if err == nil {
		err = s.tidy(ctx, g, m)
	}
	if err = errors.Join(limits, err); err != nil {
		return notPlugged("look at devices of", g.name, "", err)
	}
	return nil
}

// tidy unplugs the machine's devices that have no port.
func (s *Service) tidy(ctx context.Context, g *guest, m Machine) error {
	ids, err := m.Plugged(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	all, err := s.portsFor(ctx, g)
	if err != nil {
		return err
	}
	return s.unplugStale(ctx, g, m, ids, all)
}

// unplugStale unplugs those of a machine's devices that have no port, or one of another machine. The ports were listed after the
// devices. A device is made after its port, and no port is made twice, so that none is taken for stale that a request is making.
func (s *Service) unplugStale(ctx context.Context, g *guest, m Machine, ids []string, all []Port) error {
	var errs []error
	for _, id := range ids {
		i := slices.IndexFunc(all, func(p Port) bool { return p.TAP == id })
		if i >= 0 && all[i].concerns(g.name) {
			continue
		}
		if err := s.unplugOne(ctx, g, m, id, i >= 0); err != nil {
			errs = append(errs, notPlugged("unplug device without a port from", g.name, id, err))
		}
	}
	return errors.Join(errs...)
}

// unplugOne unplugs a device that has no port, or one of another machine.
func (s *Service) unplugOne(ctx context.Context, g *guest, m Machine, id string, hasPort bool) error {
	if hasPort { // it may be coming here just now
		port, _, release, err := s.holdPort(ctx, g.vpcs, func(p Port) bool { return p.TAP == id })
		if err != nil {
			return err
		}
		defer release()
		if port.concerns(g.name) {
			return nil
		}
	} else if there, err := s.ports.There(id); err != nil || there {
		return err // the agent's records may be lost; 'heddle gc' removes the port
	}
	if err := m.Unplug(ctx, id); err != nil {
		return err
	}
	g.changes.tell()
	s.log.Info("device without a port unplugged", "machine", g.name, "device", id)
	return nil
}

// removeLeft removes the ports that nobody wants: those that were left for another machine, which did not take them in time.
func (s *Service) removeLeft(ctx context.Context) error {
	all, unknown := s.ports.List(ctx)
	var errs []error
	for _, vpc := range slices.Sorted(maps.Keys(unknown)) {
		errs = append(errs, unknown[vpc])
	}
	for _, one := range all {
		if one.over(time.Now()) || s.forsaken(ctx, one) {
			errs = append(errs, s.removeOver(ctx, one))
		}
	}
	return errors.Join(errs...)
}

// forsaken reports whether a machine has let go of a NIC, and the one that has taken it over has it no more, and has not confirmed in time:
// it may have ended for good.
func (s *Service) forsaken(ctx context.Context, p Port) bool {
	if !p.Move.Taken || !p.Move.Left || time.Now().Before(p.Move.Until) {
		return false
	}
	if !s.knows(p.Move.To) {
		return true
	}
	m, err := s.machines(p.Move.To)
	if err != nil {
		return false
	}
	ids, err := m.Plugged(ctx)
	return err == nil && !slices.Contains(ids, p.TAP) || errors.Is(err, heddle.MachineAway.Sentinel())
}

func (s *Service) removeOver(ctx context.Context, one Port) error {
	port, found, release, err := s.holdPort(ctx, vpcsOf(one.Card.Network), func(p Port) bool { return p.ID == one.ID })
	if err != nil {
		return err
	}
	defer release()
	if !found || !port.over(time.Now()) && !s.forsaken(ctx, port) {
		return nil
	}
	s.log.Info("port removed that no machine took over", "machine", port.Machine, "to", port.Move.To, "mac", port.Card.MAC)
	return s.ports.Remove(ctx, port)
}
