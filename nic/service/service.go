package service

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

const (
	// workTime bounds what a request does, undoTime what it takes back after an error.
	workTime, undoTime = 45 * time.Second, 20 * time.Second

	logRemedy = "look at the log of 'heddle nic serve' on the hypervisor, and ask again"
)

// Service plugs NICs into the machines of its configuration. Its methods may be called at the same time.
type Service struct {
	ports    Ports
	machines Machines
	guests   map[string]*guest
	// held are the locks of ports: two machines may want to change one.
	held locks
	log  *slog.Logger
}

// New returns the service of a configuration that ParseConfig has accepted.
func New(c Config, ports Ports, machines Machines, log *slog.Logger) *Service {
	s := &Service{ports: ports, machines: machines, guests: map[string]*guest{}, log: log}
	for name, g := range c.Machines {
		s.guests[name] = newGuest(name, g)
	}
	return s
}

// List returns the NICs of a machine, in the order of their tokens.
func (s *Service) List(ctx context.Context, machine string) ([]nic.Card, error) {
	g, err := s.guest(machine)
	if err != nil {
		return nil, err
	}
	leave, err := g.enter(ctx, "")
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := working(ctx)
	defer cancel()
	var ids []string
	m, err := s.machines(machine)
	if err == nil {
		ids, err = m.Plugged(ctx)
	}
	var ports []Port
	if err == nil {
		ports, err = s.portsFor(ctx, g)
	}
	if err != nil {
		return nil, s.failed("list NICs of", machine, "", err)
	}
	all := []nic.Card{}
	for _, p := range ports {
		if card, has := p.cardFor(machine, time.Now()); has {
			card.Plugged = slices.Contains(ids, p.TAP)
			all = append(all, card)
		}
	}
	slices.SortFunc(all, func(a, b nic.Card) int { return strings.Compare(a.Token, b.Token) })
	return all, nil
}

// Describe tells what the machine can have. Its limit is the configuration's, or what it has places for.
func (s *Service) Describe(ctx context.Context, machine string) (nic.Offer, error) {
	g, err := s.guest(machine)
	if err != nil {
		return nic.Offer{}, err
	}
	leave, err := g.enter(ctx, "")
	if err != nil {
		return nic.Offer{}, err
	}
	defer leave()
	ctx, cancel := working(ctx)
	defer cancel()
	var slots, free int
	m, err := s.machines(machine)
	if err == nil {
		slots, free, err = m.Slots(ctx)
	}
	var ports []Port
	if err == nil {
		ports, err = s.portsFor(ctx, g)
	}
	if err != nil {
		return nic.Offer{}, s.failed("make the offer to", machine, "", err)
	}
	most, own := g.NICs(), 0
	slots = min(slots, most)
	offer := nic.Offer{Machine: machine, Networks: g.Networks, Slots: slots, Addresses: g.Addresses}
	for _, p := range ports {
		if p.concerns(machine) {
			own++
		}
		if p.permitted(machine, time.Now()) {
			offer.Permitted = append(offer.Permitted, nic.Permitted{From: p.Machine, Token: p.Move.As, Network: p.Card.Network, MAC: p.Card.MAC, Addrs: p.Card.Addrs})
		}
	}
	offer.Free = max(0, min(free, most-own, slots))
	return offer, nil
}

// knows reports whether the configuration has the machine.
func (s *Service) knows(machine string) bool { return s.guests[machine] != nil }

func (s *Service) guest(machine string) (*guest, error) {
	if g := s.guests[machine]; g != nil {
		return g, nil
	}
	return nil, heddle.Errorf(heddle.BadArgument, "find machine", heddle.Clip(machine), "the configuration of the NIC service has no such machine", "add it to the file of 'heddle nic serve', and start that again")
}

// portsFor returns the ports of all machines, if all are known that can be the guest's.
func (s *Service) portsFor(ctx context.Context, g *guest) ([]Port, error) {
	all, unknown := s.ports.List(ctx, g.vpcs...)
	return all, unknown.in(g.vpcs...)
}

// holdPort takes the lock of the port that pick chooses in these VPCs, and returns the port as it is then. release is to be called also if
// none was found.
func (s *Service) holdPort(ctx context.Context, vpcs []string, pick func(Port) bool) (p Port, found bool, release func(), err error) {
	for {
		before, unknown := s.ports.List(ctx, vpcs...)
		i, err := slices.IndexFunc(before, pick), unknown.in(vpcs...)
		if err != nil || i < 0 {
			return p, false, func() {}, err
		}
		id := before[i].ID
		release, err := s.held.take(ctx, id.String())
		if err != nil {
			return p, false, func() {}, err
		}
		now, unknown := s.ports.List(ctx, vpcs...)
		if err := unknown.in(vpcs...); err != nil {
			release()
			return p, false, func() {}, err
		}
		if i := slices.IndexFunc(now, func(q Port) bool { return q.ID == id && pick(q) }); i >= 0 {
			return now[i], true, release, nil
		}
		release() // another request has changed it
	}
}

// begin waits until no other request about the machine's NIC is worked on. work is the context of the work; end ends it.
func (s *Service) begin(ctx context.Context, machine, token string) (g *guest, work context.Context, end func(), err error) {
	if g, err = s.guest(machine); err == nil {
		err = nic.CheckToken(token)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	leave, err := g.enter(ctx, token)
	if err != nil {
		return nil, nil, nil, err
	}
	work, cancel := working(ctx)
	return g, work, func() {
		cancel()
		leave()
		g.changes.tell()
	}, nil
}

// working is the context of work that has begun: it is finished even if the caller disconnects.
func working(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), workTime)
}

// failed writes an error into the log, and returns it as one of ours.
func (s *Service) failed(op, machine, token string, err error) error {
	s.log.Warn("request failed", "operation", op, "machine", machine, "nic", token, "error", err)
	return notPlugged(op, machine, token, err)
}

// notPlugged is the error of work for a machine; its code is err's, if that has one.
func notPlugged(op, machine, token string, err error) error {
	code := heddle.NotPlugged
	if errors.Is(err, context.DeadlineExceeded) {
		code = heddle.Waited
	}
	object := machine
	if token != "" {
		object += "/" + token
	}
	return heddle.Wrap(code, op, object, err, logRemedy)
}
