package service

import (
	"context"
	"time"
)

// Unplug takes a NIC of the machine out of it, and then removes its port. One that is not there is no error. A port that another
// machine may take over stays for it, and one that was taken over, and not confirmed, goes back to the machine that had it.
func (s *Service) Unplug(ctx context.Context, machine, token string) error {
	g, ctx, end, err := s.begin(ctx, machine, token)
	if err != nil {
		return err
	}
	defer end()
	if err := s.unplug(ctx, g, token); err != nil {
		return s.failed("unplug NIC", machine, token, err)
	}
	s.log.Info("NIC unplugged", "machine", machine, "nic", token)
	return nil
}

// unplug is Unplug with the lock of the token held.
func (s *Service) unplug(ctx context.Context, g *guest, token string) error {
	m, err := s.machines(g.name)
	if err != nil {
		return err
	}
	port, found, release, err := s.holdPort(ctx, g.vpcs, func(p Port) bool { return p.is(g.name, token) })
	if err != nil {
		return err
	}
	defer release()
	switch now := time.Now(); {
	case !found: // its port may have been removed by hand
		return s.tidy(ctx, g, m)
	case port.takenBy(g.name):
		return s.giveBack(ctx, m, port)
	case port.Move.Taken: // the other machine has it
		port.Move.Left = true
		return s.record(ctx, port)
	case now.Before(port.Move.Until):
		if err := m.Unplug(ctx, port.TAP); err != nil || port.Move.Left {
			return err
		}
		port.Move.Left = true
		return s.record(ctx, port)
	}
	if err := m.Unplug(ctx, port.TAP); err != nil {
		return err
	}
	return s.ports.Remove(ctx, port)
}

// giveBack takes a NIC out of the machine that has taken it over, and gives it back to the one that had it.
func (s *Service) giveBack(ctx context.Context, m Machine, port Port) error {
	if err := pull(ctx, m, port); err != nil {
		return err
	}
	port.Move.Taken = false
	if port.over(time.Now()) {
		return s.ports.Remove(ctx, port)
	}
	return s.record(ctx, port)
}
