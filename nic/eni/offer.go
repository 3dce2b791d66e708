package eni

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/heddle-network/heddle/nic"
)

// subnet asks for a subnet, if that has not been done.
func (p *Provider) subnet(ctx context.Context, id string) (Subnet, error) {
	p.mu.Lock()
	s, is := p.subnets[id]
	p.mu.Unlock()
	if is {
		return s, nil
	}
	s, err := p.cloud.Subnet(ctx, id)
	if err != nil {
		return Subnet{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subnets[id] = s
	return s, nil
}

// limitsOf asks what this machine may have, if that has not been done.
func (p *Provider) limitsOf(ctx context.Context) (Limits, error) {
	p.mu.Lock()
	known := p.limits
	p.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	l, err := p.cloud.Limits(ctx)
	if err != nil {
		return Limits{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limits = &l
	return l, nil
}

// watchTime is how long a watch waits. Clouds tell nobody of changes.
const watchTime = time.Minute

// Watch implements nic.Provider: it does not know of changes.
func (p *Provider) Watch(ctx context.Context, since string) (string, error) {
	wait(ctx, watchTime)
	return since, nil
}

// Describe implements nic.Provider.
func (p *Provider) Describe(ctx context.Context) (nic.Offer, error) {
	if err := p.start(ctx); err != nil {
		return nic.Offer{}, err
	}
	o := nic.Offer{Machine: p.me.ID, Networks: slices.Sorted(maps.Keys(p.settings.Subnets))}
	l, err := p.limitsOf(ctx)
	if err != nil {
		return o, err
	}
	o.Addresses = p.setsEach(l)
	o.DHCP = o.Networks // a subnet's own server leases a NIC its primary address, for which its card is
	o.Slots, o.Free, err = p.room(ctx)
	return o, err
}

// room returns how many NICs the agent may have, and how many more it can have now.
func (p *Provider) room(ctx context.Context) (slots, free int, err error) {
	l, err := p.limitsOf(ctx)
	if err != nil {
		return 0, 0, err
	}
	attached, err := p.find(ctx, p.me.ID, Filter{Instance: p.me.ID})
	if err != nil {
		return 0, 0, err
	}
	slots, free = room(l.NICs, p.settings.Most, p.me.ID, attached)
	return slots, free, nil
}

// room is Provider.room. limit is the machine's, with its primary NIC; most is the configuration's, or 0. NICs that others have attached take
// room, too.
func room(limit, most int, machine string, attached []NIC) (slots, free int) {
	own, foreign := 0, 0
	for _, n := range attached {
		switch {
		case n.Tags[TagMachine] == machine:
			own++
		case !n.Apart:
			foreign++
		}
	}
	slots = max(0, limit-foreign)
	if most > 0 {
		slots = min(slots, most)
	}
	return slots, max(0, slots-own)
}
