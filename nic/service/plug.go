package service

import (
	"context"
	"errors"
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
	leave, err := g.enter(ctx, order.Token)
	if err != nil {
		return nic.Card{}, err
	}
	defer leave()
	ctx, cancel := working(ctx)
	defer cancel()
	card, err := s.plug(ctx, g, order)
	if err != nil {
		return nic.Card{}, s.failed("plug NIC", machine, order.Token, err)
	}
	s.log.Info("NIC plugged", "machine", machine, "nic", order.Token, "network", card.Network, "mac", card.MAC)
	return card, nil
}

// plug is Plug with the lock of the token held.
func (s *Service) plug(ctx context.Context, g *guest, order nic.Order) (nic.Card, error) {
	m, err := s.machines(g.name)
	if err != nil {
		return nic.Card{}, err
	}
	ids, err := m.Plugged(ctx) // a machine that does not answer gets no port
	if err != nil {
		return nic.Card{}, err
	}
	port, made, err := s.port(ctx, g, order)
	if err != nil {
		return nic.Card{}, err
	}
	port.Card.Plugged = true
	isIn := slices.Contains(ids, order.Token)
	if isIn && !made {
		return port.Card, nil
	}
	if isIn { // its port was removed: its TAP is another one
		err = m.Unplug(ctx, order.Token)
	}
	if err == nil {
		err = s.connect(ctx, m, port)
	}
	if err != nil {
		return nic.Card{}, s.undo(ctx, m, port, made, err)
	}
	return port.Card, nil
}

// port returns the order's port, and whether it made it.
func (s *Service) port(ctx context.Context, g *guest, order nic.Order) (p Port, made bool, err error) {
	if err := g.take(ctx, g.making); err != nil {
		return p, false, err
	}
	defer func() { <-g.making }()
	own, err := s.portsOf(ctx, g.name)
	if err != nil {
		return p, false, err
	}
	for _, p := range own {
		if p.Card.Token == order.Token {
			return p, false, fits(p, order)
		}
	}
	if len(own) >= g.NICs() {
		return p, false, heddle.Errorf(heddle.NICNotGranted, "plug NIC", g.name+"/"+order.Token, "the machine has "+heddle.Count(len(own), "NIC")+", as many as it may have",
			"unplug one that is not needed")
	}
	p, err = s.ports.Make(ctx, g.name, order)
	return p, err == nil, err
}

// fits returns an error if the port is not what is ordered now.
func fits(p Port, order nic.Order) error {
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
	return heddle.Errorf(heddle.EndpointDiffers, "plug NIC", p.Machine+"/"+order.Token, why+", and was ordered before with other settings",
		"unplug it first, or order with another token")
}

func (s *Service) connect(ctx context.Context, m Machine, port Port) error {
	tap, err := s.ports.Open(port)
	if err != nil {
		return err
	}
	defer tap.Close()
	return m.Plug(ctx, port.Card.Token, port.Card.MAC, port.Card.MTU, tap)
}

// undo takes back what a failed plug has made: the device, which may be there, and then its port, if it is new. It
// returns why. A port goes also where the device does not: without its TAP the device has no network, and the next
// Plug or Reconcile unplugs it.
func (s *Service) undo(ctx context.Context, m Machine, port Port, made bool, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	err := m.Unplug(ctx, port.Card.Token)
	if made {
		err = errors.Join(err, s.ports.Remove(ctx, port.Machine, port.Card.Token))
	}
	if err == nil {
		return why
	}
	return heddle.Errorf(heddle.UndoFailed, "undo plugging of NIC", port.Machine+"/"+port.Card.Token,
		fmt.Sprintf("%s; it was being undone since: %s", heddle.SentenceOf(err), heddle.SentenceOf(why)), "plug it again, or unplug it")
}
