package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// PermitTime is how long another machine has to take a NIC over.
const PermitTime = 10 * time.Minute

// Permit is nic.Mover.Permit.
func (s *Service) Permit(ctx context.Context, machine, token, to, as string) error {
	const op = "permit move of NIC"
	if to != "" {
		if err := errors.Join(nic.CheckMachine(to), nic.CheckToken(as)); err != nil {
			return err
		}
	}
	g, ctx, end, err := s.begin(ctx, machine, token)
	if err != nil {
		return err
	}
	defer end()
	port, found, release, err := s.holdPort(ctx, g.vpcs, func(p Port) bool { return p.Machine == machine && p.Card.Token == token })
	if err == nil {
		defer release()
		switch {
		case !found && to == "":
			return nil
		case !found:
			return heddle.Errorf(heddle.NICNotGranted, op, machine+"/"+token, "the machine has no such NIC", "look with 'heddle endpoint list'")
		case to == "":
			err = s.callBack(ctx, port)
		default:
			err = s.permit(ctx, port, to, as)
		}
	}
	if err != nil {
		return s.failed(op, machine, token, err)
	}
	told := "NIC may move"
	if to == "" {
		told = "NIC may not move any more"
	}
	s.log.Info(told, "machine", machine, "nic", token, "to", to)
	return nil
}

// permit lets a machine take over the port's NIC.
func (s *Service) permit(ctx context.Context, port Port, to, as string) error {
	why, remedy := "", ""
	switch g := s.guests[to]; {
	case g == nil:
		why, remedy = "the configuration of the NIC service has no machine "+to, "name another machine, or add it to the file of 'heddle nic serve' and start that again"
	case to == port.Machine:
		why, remedy = "it is that machine's already", "name another machine"
	case !slices.Contains(g.Networks, port.Card.Network):
		why, remedy = "machine "+to+" may have no NIC on network "+port.Card.Network, "name another machine, or change the file of 'heddle nic serve'"
	case len(port.Card.Further) > g.Addresses:
		why = fmt.Sprintf("it has %d sets of further addresses, and a NIC of machine %s may have %d", len(port.Card.Further), to, g.Addresses)
		remedy = "unassign them first, or raise addresses in the file of 'heddle nic serve'"
	case port.Move.Taken && (port.Move.To != to || port.Move.As != as):
		why, remedy = "machine "+port.Move.To+" is taking it over", "call it back first with --cancel"
	}
	if why != "" {
		return heddle.Errorf(heddle.NICNotGranted, "permit move of NIC", port.Machine+"/"+port.Card.Token, why, remedy)
	}
	was := port.Move.To
	port.Move.To, port.Move.As, port.Move.Until = to, as, time.Now().Add(PermitTime)
	return s.record(ctx, port, was)
}

// callBack ends a permission.
func (s *Service) callBack(ctx context.Context, port Port) error {
	if port.Move.Taken && s.knows(port.Move.To) {
		m, err := s.machines(port.Move.To)
		if err == nil {
			err = pull(ctx, m, port)
		}
		if err != nil {
			return err
		}
	}
	if port.Move.Left {
		return s.ports.Remove(ctx, port)
	}
	was := port.Move.To
	port.Move = Move{}
	return s.record(ctx, port, was)
}

// takeOver moves the NIC that another machine has permitted into this one.
func (s *Service) takeOver(ctx context.Context, g *guest, m Machine, order nic.Order) (nic.Card, error) {
	port, found, release, err := s.holdPort(ctx, g.vpcs, func(p Port) bool {
		return p.Machine == order.From && p.Move.As == order.Token && p.permitted(g.name, time.Now())
	})
	if err != nil {
		return nic.Card{}, err
	}
	defer release()
	if !found {
		return nic.Card{}, heddle.Errorf(heddle.NICNotGranted, "take over NIC", g.name+"/"+order.Token, "machine "+order.From+" does not permit it, or its time is over",
			"run 'heddle endpoint move ID --to "+g.name+"' there, and attach again")
	}
	if err := fits(port, g.name, order); err != nil {
		return nic.Card{}, err
	}
	_, free, err := m.Slots(ctx)
	if err == nil && free == 0 { // found out before the NIC is in no machine
		err = heddle.Errorf(heddle.NoSlot, "take over NIC", g.name+"/"+order.Token, "each slot of the machine holds a device", "unplug a NIC first")
	}
	if err != nil {
		return nic.Card{}, err
	}
	if err := s.markTaken(ctx, g, &port); err != nil {
		return nic.Card{}, err
	}
	return s.carryOver(ctx, g, m, nil, port)
}

// markTaken records that the machine has taken the NIC, if it has room for it.
func (s *Service) markTaken(ctx context.Context, g *guest, port *Port) error {
	end, err := g.count(ctx)
	if err != nil {
		return err
	}
	defer end()
	all, err := s.portsFor(ctx, g)
	if err == nil {
		err = g.hasRoom(all, port.Move.As)
	}
	if err != nil {
		return err
	}
	port.Move.Taken = true
	return s.record(ctx, *port)
}

// carryOver has a NIC that the machine has taken plugged in there, and no more in the other machine. ids are the devices that it
// has. After an error the NIC is given back.
func (s *Service) carryOver(ctx context.Context, g *guest, m Machine, ids []string, port Port) (nic.Card, error) {
	card := plugged(port, g.name)
	if slices.Contains(ids, port.TAP) {
		return card, nil
	}
	start, err := time.Now(), error(nil)
	if s.knows(port.Machine) {
		var from Machine
		if from, err = s.machines(port.Machine); err == nil {
			err = pull(ctx, from, port)
		}
	}
	if err == nil {
		port, err = s.connect(ctx, g, m, port)
	}
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
		defer cancel()
		return nic.Card{}, undone("taking over", port, s.giveBack(undo, m, port), err)
	}
	card.Limits, card.Dark = port.Card.Limits, time.Since(start)
	return card, nil
}

// pull takes the port's NIC out of a machine. One that does not run has none; if it does and does not answer, its TAP cannot be
// opened.
func pull(ctx context.Context, m Machine, port Port) error {
	err := m.Unplug(ctx, port.TAP)
	if errors.Is(err, heddle.MachineAway.Sentinel()) && ctx.Err() == nil {
		return nil
	}
	return err
}

// Confirm is nic.Mover.Confirm.
func (s *Service) Confirm(ctx context.Context, machine, token string) error {
	const op = "confirm move of NIC"
	g, ctx, end, err := s.begin(ctx, machine, token)
	if err != nil {
		return err
	}
	defer end()
	port, found, release, err := s.holdPort(ctx, g.vpcs, func(p Port) bool { return p.is(machine, token) })
	if err == nil {
		defer release()
		switch {
		case !found:
			return heddle.Errorf(heddle.NICNotGranted, op, machine+"/"+token, "the machine that had the NIC has called it back", "detach the endpoint")
		case port.takenBy(machine):
			was := port.Machine
			port.Machine, port.Card.Token, port.Move = machine, token, Move{}
			err = s.record(ctx, port, was)
		}
	}
	if err != nil {
		return s.failed(op, machine, token, err)
	}
	s.log.Info("NIC has moved", "machine", machine, "nic", token)
	return nil
}
