package service

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Assign is nic.Addresser.Assign.
func (s *Service) Assign(ctx context.Context, machine, token string, sets int) (nic.Card, error) {
	const op = "assign addresses to NIC"
	g, err := s.guest(machine)
	if err != nil {
		return nic.Card{}, err
	}
	if sets < 0 || sets > g.Addresses {
		return nic.Card{}, heddle.Errorf(heddle.TooMuch, op, machine+"/"+token, fmt.Sprintf("a NIC of the machine may have %d sets of further addresses, not %d", g.Addresses, sets),
			"plug another NIC in, or raise addresses in the file of 'heddle nic serve'")
	}
	return s.readdress(ctx, op, machine, token, func(ctx context.Context, p Port) (Port, error) {
		if len(p.Card.Further) >= sets {
			return p, nil
		}
		return s.ports.Assign(ctx, p, sets)
	})
}

// Unassign is nic.Addresser.Unassign.
func (s *Service) Unassign(ctx context.Context, machine, token string, a netip.Addr) error {
	_, err := s.readdress(ctx, "unassign address of NIC", machine, token, func(ctx context.Context, p Port) (Port, error) { return s.ports.Unassign(ctx, p, a) })
	return err
}

// readdress changes the addresses of the machine's NIC, and returns it. One that another machine may take over keeps them.
func (s *Service) readdress(ctx context.Context, op, machine, token string, change func(context.Context, Port) (Port, error)) (nic.Card, error) {
	g, ctx, end, err := s.begin(ctx, machine, token)
	if err != nil {
		return nic.Card{}, err
	}
	defer end()
	port, found, release, err := s.holdPort(ctx, g.vpcs, func(p Port) bool { return p.Machine == machine && p.Card.Token == token && p.Move == Move{} })
	if err == nil {
		defer release()
		if !found {
			return nic.Card{}, heddle.Errorf(heddle.NICNotGranted, op, machine+"/"+token, "the machine has no such NIC, or another one may take it over", "plug it in first")
		}
		port, err = change(ctx, port)
	}
	if err != nil {
		return nic.Card{}, s.failed(op, machine, token, err)
	}
	s.log.Info("addresses of NIC", "machine", machine, "nic", token, "further", len(port.Card.Further))
	return port.Card, nil
}
