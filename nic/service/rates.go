package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// checkRates returns what is wrong with the rates of a machine, and the key of it; "" if nothing is.
func (g Guest) checkRates() (key, why string) {
	for _, r := range []struct{ key, text string }{{"rate", g.Rate}, {"rateIn", g.RateIn}, {"rateOut", g.RateOut}} {
		if r.text == "" {
			continue
		}
		rate, err := heddle.ParseRate(r.text)
		if err != nil {
			return r.key, fmt.Sprintf("%q: %s; %s", heddle.Clip(r.text), heddle.CauseOf(err), heddle.RemedyOf(err))
		}
		if rate < heddle.LeastRate || rate > heddle.MostRate {
			return r.key, fmt.Sprintf("%s is not from %s to %s; give a rate in this range, or none", rate, heddle.LeastRate, heddle.MostRate)
		}
	}
	return "", ""
}

// most is what a NIC of the machine with that MTU may receive and send at most. The configuration was checked.
func (g Guest) most(mtu int) (heddle.RateLimits, error) {
	in, _ := heddle.ParseRate(cmp.Or(g.RateIn, g.Rate))
	out, _ := heddle.ParseRate(cmp.Or(g.RateOut, g.Rate))
	return fit(heddle.RateLimits{In: heddle.RateLimit{Rate: in}, Out: heddle.RateLimit{Rate: out}}, mtu)
}

// fit is heddle.RateLimits.Fit for a NIC.
func fit(l heddle.RateLimits, mtu int) (heddle.RateLimits, error) {
	return l.Fit(heddle.EndpointID{Container: "nic", IfName: "eth0"}, mtu)
}

// due are the limits that the port's NIC should have in the machine: what was asked for, and no more than the configuration allows.
func (g *guest) due(p Port) (heddle.RateLimits, error) {
	asked, err := fit(p.Card.Asked, p.Card.MTU)
	if err != nil {
		return heddle.RateLimits{}, heddle.Errorf(heddle.BadOption, "limit NIC", p.Machine+"/"+p.Card.Token, heddle.CauseOf(err), heddle.RemedyOf(err))
	}
	most, err := g.most(p.Card.MTU)
	return asked.Within(most), err
}

// limited has a port limited as is due for the machine, which is about to have its NIC, or has it.
func (s *Service) limited(ctx context.Context, g *guest, p Port) (Port, error) {
	return s.limitTo(ctx, g, p, p.Card.Asked)
}

// Limit is nic.Limiter.Limit. One of which another machine has the NIC keeps its limits.
func (s *Service) Limit(ctx context.Context, machine, token string, asked heddle.RateLimits) (nic.Card, error) {
	const op = "limit NIC"
	g, ctx, end, err := s.begin(ctx, machine, token)
	if err != nil {
		return nic.Card{}, err
	}
	defer end()
	port, found, release, err := s.holdPort(ctx, g.vpcs, func(p Port) bool { return p.is(machine, token) && p.holder() == machine && !p.Move.Left })
	if err == nil {
		defer release()
		if !found {
			return nic.Card{}, heddle.Errorf(heddle.NICNotGranted, op, machine+"/"+token, "the machine has no such NIC", "plug it in first")
		}
		port, err = s.limitTo(ctx, g, port, asked)
	}
	if err != nil {
		return nic.Card{}, s.failed(op, machine, token, err)
	}
	s.log.Info("limits of NIC", "machine", machine, "nic", token, "limits", port.Card.Limits.String())
	card, _ := port.cardFor(machine, time.Now())
	return card, nil
}

// limitTo limits a port to what is asked, and no more than the configuration allows. It returns the port as it is then.
func (s *Service) limitTo(ctx context.Context, g *guest, p Port, asked heddle.RateLimits) (Port, error) {
	next := p
	next.Card.Asked = asked
	due, err := g.due(next)
	if err != nil || p.Card.Asked == asked && p.Card.Limits == due {
		return p, err
	}
	if err := s.ports.Limit(ctx, p, asked, due); err != nil {
		return p, err
	}
	next.Card.Limits = due
	return next, nil
}

// compareLimits limits the machine's ports that let more pass than the configuration allows; in a service that has just started, all that are
// not as is due: it may have got another configuration, or been killed. Later, less is left alone: the hypervisor's operator may have chosen that.
func (s *Service) compareLimits(ctx context.Context, g *guest) error {
	all, err := s.portsFor(ctx, g)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range all {
		if p.holder() == g.name {
			errs = append(errs, s.compareLimit(ctx, g, p))
		}
	}
	err = errors.Join(errs...)
	g.compared = g.compared || err == nil
	return err
}

// compareLimit is compareLimits for one port.
func (s *Service) compareLimit(ctx context.Context, g *guest, one Port) error {
	if ok, err := g.bears(one); ok || err != nil {
		return err
	}
	port, found, release, err := s.holdPort(ctx, g.vpcs, func(p Port) bool { return p.ID == one.ID && p.holder() == g.name })
	if err != nil {
		return err
	}
	defer release()
	if !found {
		return nil
	}
	if ok, err := g.bears(port); ok || err != nil {
		return err
	}
	port, err = s.limited(ctx, g, port)
	if err == nil {
		s.log.Info("limits of NIC set as they are due", "machine", g.name, "nic", port.Card.Token, "limits", port.Card.Limits.String())
		g.changes.tell()
	}
	return err
}

// bears reports whether a port's limits may stay.
func (g *guest) bears(p Port) (bool, error) {
	due, err := g.due(p)
	if !g.compared || err != nil {
		return p.Card.Limits == due, err
	}
	most, err := g.most(p.Card.MTU)
	return p.Card.Limits.Within(most) == p.Card.Limits, err
}
