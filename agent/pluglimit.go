package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/nic"
)

// limitTime bounds a request that limits a NIC.
const limitTime = 10 * time.Second

// leastMTU is the least of a NIC (RFC 791, 3.2).
const leastMTU = 68

// limiter is the provider, if it can limit NICs; nil otherwise.
func (p *plugs) limiter() nic.Limiter {
	l, _ := p.provider.(nic.Limiter)
	return l
}

// limitGiven has the provider limit a NIC that an endpoint is about to get. One of which it is not known whether it is limited is given to nobody.
func (p *plugs) limitGiven(ctx context.Context, card nic.Card, req heddle.AttachRequest) (nic.Card, error) {
	if card.Asked == req.Limits {
		return card, nil
	}
	if _, err := req.Limits.Fit(req.ID, card.MTU); err != nil {
		return card, err
	}
	now, err := p.limit(ctx, card.Token, req.Limits)
	if err != nil {
		p.distrust(card.Token)
		return card, err
	}
	card.Asked, card.Limits = now.Asked, now.Limits
	return card, nil
}

// limit has the provider limit a NIC.
func (p *plugs) limit(ctx context.Context, token string, asked heddle.RateLimits) (nic.Card, error) {
	defer p.tokens.Lock(token)()
	return p.limitLocked(ctx, token, asked)
}

// limitLocked is limit with the token's lock held.
func (p *plugs) limitLocked(ctx context.Context, token string, asked heddle.RateLimits) (nic.Card, error) {
	p.tokens.mustHold(token)
	l := p.limiter()
	if l == nil {
		return nic.Card{}, heddle.Errorf(heddle.BadOption, "limit NIC", token, "who plugs NICs in cannot limit them", "leave the rate out")
	}
	if err := p.trip.step("limit NIC"); err != nil {
		return nic.Card{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limitTime)
	defer cancel()
	return l.Limit(ctx, token, asked)
}

// unlimit ends what a NIC that goes back into its pool was limited to, and returns what is left of that: the provider's own limits.
func (p *plugs) unlimit(c nic.Card) (nic.Card, error) {
	if c.Asked.IsZero() {
		return c, nil
	}
	now, err := p.limitLocked(context.Background(), c.Token, heddle.RateLimits{})
	c.Asked, c.Limits = now.Asked, now.Limits
	return c, err
}

// keepLimits has NICs limited as their endpoints' records say, and records what the provider allows. all is what the provider has.
func (p *plugs) keepLimits(ctx context.Context, all []nic.Card) error {
	if p.limiter() == nil {
		return nil
	}
	in := map[string]nic.Card{}
	for _, c := range all {
		if !c.Taken {
			in[c.Token] = c
		}
	}
	var differ []heddle.EndpointID
	p.records.each(func(r record, op string) {
		if given := r.plugged(); given != nil && op == "" {
			if c, is := in[given.Token]; is && (c.Asked != r.Request.Limits || c.Limits != r.Endpoint.Limits) {
				differ = append(differ, r.Endpoint.ID)
			}
		}
	})
	var errs []error
	for _, id := range differ {
		errs = append(errs, p.relimit(ctx, id))
	}
	return errors.Join(errs...)
}

// relimitNIC has the provider limit an endpoint's NIC as its record says, and records what is allowed.
func (a *Agent) relimitNIC(ctx context.Context, id heddle.EndpointID) error {
	defer a.endpointLocks.Lock(id)()
	r, known := a.records.get(id)
	if !known || a.records.pendingOf(id) != "" || r.plugged() == nil {
		return nil // it has gone meanwhile
	}
	_, err := a.limitPlugged(ctx, r, r.Request.Limits)
	return err
}

// limitPlugged has the provider limit an endpoint's plugged NIC, and records it. Killed in between, the next look has it limited as it was.
func (a *Agent) limitPlugged(ctx context.Context, r record, asked heddle.RateLimits) (record, error) {
	a.endpointLocks.mustHold(r.Endpoint.ID)
	defer a.activity.begin()()
	card, err := a.plugs.limit(ctx, r.plugged().Token, asked)
	if err != nil {
		signal(a.plugs.soon) // it may be done all the same
		return r, err
	}
	next := r
	next.Request.Limits, next.Endpoint.LimitsAsked, next.Endpoint.Limits = asked, asked, card.Limits
	if next.Request.Limits == r.Request.Limits && next.Endpoint.Limits == r.Endpoint.Limits {
		return r, nil
	}
	err = a.trip.step("ledger limits")
	if err == nil {
		err = a.ledger.putRecord(next)
	}
	if err != nil {
		signal(a.plugs.soon) // the provider is told of the old ones again
		return r, err
	}
	a.records.put(next)
	a.networks.endpointEvent(events.Updated, next.Endpoint)
	return next, nil
}

// setPluggedLimits is SetLimits for an endpoint with a plugged NIC.
func (a *Agent) setPluggedLimits(ctx context.Context, n *network, old record, change heddle.RateLimitChange, dryRun bool) (e heddle.Endpoint, lines []string, err error) {
	asked := change.Apply(old.Request.Limits)
	if err := a.checkLimits(n, old.Endpoint.ID, asked); err != nil {
		return e, nil, err
	}
	limits, err := asked.Fit(old.Endpoint.ID, old.Endpoint.MTU)
	if err != nil {
		return e, nil, err
	}
	if dryRun {
		next := old
		next.Endpoint.Limits, next.Endpoint.LimitsAsked = limits, asked
		said := "no limits"
		if !limits.IsZero() {
			said = "limits " + limits.String() + ", or less if the hypervisor says so"
		}
		return next.withPort(), []string{fmt.Sprintf("# at the hypervisor: NIC %s has %s", old.Endpoint.MAC, said)}, nil
	}
	if asked == old.Request.Limits {
		return old.withPort(), nil, nil
	}
	next, err := a.limitPlugged(ctx, old, asked)
	return next.withPort(), nil, err
}
