package service

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Plug returns the NIC of the machine and order.Token, plugged. What of it is there stays, and what is missing is
// made. After an error, what it has made is gone; if even that failed, the error is of code heddle.UndoFailed.
func (s *Service) Plug(ctx context.Context, machine string, order nic.Order) (nic.Card, error) {
	g, err := s.guest(machine)
	if err == nil {
		err = order.Check()
	}
	if err == nil && !slices.Contains(g.Networks, order.Network) {
		err = heddle.Errorf(heddle.NICNotGranted, "plug NIC", machine+"/"+order.Token, "the machine may have no NIC on network "+order.Network,
			"choose from "+heddle.List(g.Networks))
	}
	if err != nil {
		return nic.Card{}, err
	}
	g, ctx, end, err := s.begin(ctx, machine, order.Token)
	if err != nil {
		return nic.Card{}, err
	}
	defer end()
	card, err := s.plug(ctx, g, order)
	if err != nil {
		return nic.Card{}, s.failed("plug NIC", machine, order.Token, err)
	}
	s.log.Info("NIC plugged", "machine", machine, "nic", order.Token, "network", card.Network, "mac", card.MAC, "from", order.From)
	return card, nil
}

// plug is Plug with the lock of the token held.
func (s *Service) plug(ctx context.Context, g *guest, order nic.Order) (nic.Card, error) {
	m, err := s.machines(g.name)
	if err != nil {
		return nic.Card{}, err
	}
	port, found, release, err := s.holdPort(ctx, g.vpcs, func(p Port) bool { return p.is(g.name, order.Token) })
	if err != nil {
		return nic.Card{}, err
	}
	defer release()
	ids, err := m.Plugged(ctx) // a machine that does not answer gets no port
	switch {
	case err != nil:
		return nic.Card{}, err
	case found:
		return s.plugFound(ctx, g, m, ids, port, order)
	case order.From != "":
		return s.takeOver(ctx, g, m, order)
	}
	return s.plugNew(ctx, g, m, ids, order)
}

// plugFound plugs the NIC of a port in that is there. After an error it stays.
func (s *Service) plugFound(ctx context.Context, g *guest, m Machine, ids []string, port Port, order nic.Order) (nic.Card, error) {
	if port.Move.Taken && !port.takenBy(g.name) { // said first: the caller would unplug what does not fit
		return nic.Card{}, heddle.Errorf(heddle.NICNotGranted, "plug NIC", g.name+"/"+order.Token, "machine "+port.Move.To+" is taking it over",
			"call it back with 'heddle endpoint move ID --cancel', or ask again when the move has ended")
	}
	if err := fits(port, g.name, order); err != nil {
		return nic.Card{}, err
	}
	if port.takenBy(g.name) {
		return s.carryOver(ctx, g, m, ids, port)
	}
	if port.Move.Left { // it is wanted again, and not moved
		was := port.Move.To
		port.Move = Move{}
		if err := s.record(ctx, port, was); err != nil {
			return nic.Card{}, err
		}
	}
	if !slices.Contains(ids, port.TAP) {
		var err error
		if port, err = s.connect(ctx, g, m, port); err != nil {
			return nic.Card{}, s.undo(ctx, m, port, false, err)
		}
	}
	return plugged(port, g.name), nil
}

// plugNew makes a port, and plugs its NIC in.
func (s *Service) plugNew(ctx context.Context, g *guest, m Machine, ids []string, order nic.Order) (nic.Card, error) {
	end, err := g.count(ctx)
	if err != nil {
		return nic.Card{}, err
	}
	port, all, err := s.makePort(ctx, g, m, order)
	end()
	if err != nil {
		return nic.Card{}, err
	}
	err = s.unplugStale(ctx, g, m, ids, append(all, port)) // one with the same MAC address may be there, whose port was removed
	if err == nil {
		port, err = s.connect(ctx, g, m, port)
	}
	if err != nil {
		return nic.Card{}, s.undo(ctx, m, port, true, err)
	}
	return plugged(port, g.name), nil
}

// makePort makes a port, and returns the ports that were there before.
func (s *Service) makePort(ctx context.Context, g *guest, m Machine, order nic.Order) (p Port, all []Port, err error) {
	all, err = s.portsFor(ctx, g)
	if err == nil {
		err = g.hasRoom(all, order.Token)
	}
	queues := 1
	if err == nil && g.Queues() > 1 {
		queues, err = m.Queues(ctx)
	}
	if err == nil {
		p, err = s.ports.Make(ctx, g.name, order, queues > 1)
	}
	return p, all, err
}

// hasRoom returns an error if the machine has as many NICs as it may have.
func (g *guest) hasRoom(all []Port, token string) error {
	own, left := 0, 0
	for _, p := range all {
		if p.concerns(g.name) {
			own++
			if p.Move.Left {
				left++
			}
		}
	}
	if own < g.NICs() {
		return nil
	}
	why := "the machine has " + heddle.Count(own, "NIC") + ", as many as it may have"
	if left > 0 {
		why += fmt.Sprintf("; %d of them wait for another machine, for %v at most", left, PermitTime)
	}
	return heddle.Errorf(heddle.NoSlot, "plug NIC", g.name+"/"+token, why, "unplug one that is not needed; 'heddle endpoint move ID --cancel' ends one that waits")
}

// fits returns an error if the port is not what is ordered now.
func fits(p Port, machine string, order nic.Order) error {
	why := ""
	if p.Card.Network != order.Network {
		why = "it is on network " + p.Card.Network
	} else if order.MAC != "" && order.MAC != p.Card.MAC {
		why = "its MAC address is " + string(p.Card.MAC)
	}
	for _, a := range order.IPs {
		if !slices.ContainsFunc(p.Card.Addrs, func(x netip.Prefix) bool { return x.Addr() == a }) {
			why = "it does not have address " + a.String()
		}
	}
	if why == "" {
		return nil
	}
	return heddle.Errorf(heddle.EndpointDiffers, "plug NIC", machine+"/"+order.Token, why+", and was ordered before with other settings",
		"unplug it first, or order with another token")
}
