package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// reconcileEvery is how often devices and ports are compared, reconcileTime bounds one comparison.
const reconcileEvery, reconcileTime = 30 * time.Second, 2 * time.Minute

// keepReconciled reconciles again and again, and logs what failed when that changes: a machine may not run for long.
func (s *Service) keepReconciled(ctx context.Context) {
	told := ""
	for {
		limited, done := context.WithTimeout(ctx, reconcileTime)
		err := s.Reconcile(limited)
		done()
		now := ""
		if err != nil && ctx.Err() == nil {
			now = err.Error()
		}
		if now != told && now != "" {
			s.log.Warn("not all devices compared with ports", "error", err)
		}
		told = now
		select {
		case <-ctx.Done():
			return
		case <-time.After(reconcileEvery):
		}
	}
}

// Reconcile unplugs devices of ours that have no port: a service that was killed left them, or their ports were
// removed by hand. Ports without a device stay: the machine plugs them again, or unplugs them. It may run beside
// requests. What cannot be done for one machine stops it for no other; the error says what it was.
func (s *Service) Reconcile(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(s.guests))
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { errs[i] = s.reconcile(ctx, s.guests[name]) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (s *Service) reconcile(ctx context.Context, g *guest) error {
	m, err := s.machines(g.name)
	if err != nil {
		return notPlugged("look at devices of", g.name, "", err)
	}
	ids, err := m.Plugged(ctx)
	if err != nil {
		return notPlugged("look at devices of", g.name, "", err)
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, s.unplugStale(ctx, g, m, id))
	}
	return errors.Join(errs...)
}

// unplugStale unplugs a device if it has no port. Ports are listed with the token's lock held: a request may be making one.
func (s *Service) unplugStale(ctx context.Context, g *guest, m Machine, token string) error {
	leave, err := g.enter(ctx, token)
	if err != nil {
		return err
	}
	defer leave()
	own, err := s.portsOf(ctx, g.name)
	if err == nil {
		if slices.ContainsFunc(own, func(p Port) bool { return p.Card.Token == token }) {
			return nil
		}
		var there bool
		if there, err = s.ports.There(g.name, token); there {
			return nil // the agent's records may be lost; 'heddle gc' removes the port
		}
	}
	if err == nil {
		err = m.Unplug(ctx, token)
	}
	if err != nil {
		return notPlugged("unplug device without a port from", g.name, token, err)
	}
	s.log.Info("device without a port unplugged", "machine", g.name, "nic", token)
	return nil
}
