package eni

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Provider implements nic.Provider. It asks what this machine is when it is first needed, so that an agent starts without the
// cloud, too.
type Provider struct {
	cloud    Cloud
	settings Settings

	// starting holds one value while the cloud is asked what this machine is; it does not change after that.
	starting chan struct{}
	started  bool
	me       Machine

	mu      sync.Mutex
	subnets map[string]Subnet // by ID
	limits  *Limits           // nil if they are not known yet
	// making are tokens whose NICs are being made, or may not be listed yet.
	making map[string]bool
	// lately are the addresses that NICs have got or lost, by the NIC's ID. The list may not say so yet.
	lately map[string]map[netip.Prefix]change
	// sureFrom is when the list will have all that was done to a NIC's addresses; for those that are not in it, it is some time after opened, when this was first
	// used.
	sureFrom map[string]time.Time
	opened   time.Time
	// crumbled is since when a subnet has no free prefix, by its ID.
	crumbled map[string]time.Time
	// readdressing holds one value while the addresses of a NIC are changed.
	readdressing chan struct{}
}

var (
	_ nic.Provider  = (*Provider)(nil)
	_ nic.Addresser = (*Provider)(nil)
	_ nic.Prefixer  = (*Provider)(nil)
)

// New returns the provider of a cloud; it does not ask anything yet.
func New(c Cloud, s Settings) *Provider {
	return &Provider{cloud: c, settings: s, starting: make(chan struct{}, 1), subnets: map[string]Subnet{}, making: map[string]bool{}, lately: map[string]map[netip.Prefix]change{},
		sureFrom: map[string]time.Time{}, crumbled: map[string]time.Time{}, readdressing: make(chan struct{}, 1)}
}

// start finds out what this machine is.
func (p *Provider) start(ctx context.Context) error {
	select {
	case p.starting <- struct{}{}:
		defer func() { <-p.starting }()
	case <-ctx.Done():
		return heddle.Wrap(heddle.Waited, "wait for", "the metadata service", context.Cause(ctx), "try again")
	}
	if p.started {
		return nil
	}
	me, err := p.cloud.Start(ctx)
	if err != nil {
		return err
	}
	p.started, p.me, p.opened = true, me, time.Now() // by now an agent that ran before has ended
	return nil
}

// Unplug implements nic.Provider.
func (p *Provider) Unplug(ctx context.Context, token string) error {
	if err := nic.CheckToken(token); err != nil {
		return err
	}
	if err := p.start(ctx); err != nil {
		return err
	}
	all, err := p.unwanted(ctx, token)
	if err != nil {
		return err
	}
	for _, n := range all {
		if _, err := p.drive(ctx, n.ID, gone); err != nil {
			return err
		}
		p.forget(n.ID)
	}
	p.made(token)
	return nil
}

// unwanted are the NICs of a token that nobody wants any more. A spare one is looked at again: it may be the one that counts by now.
func (p *Provider) unwanted(ctx context.Context, token string) ([]NIC, error) {
	id, isSpare := strings.CutPrefix(token, spare)
	if !isSpare {
		return p.ours(ctx, token)
	}
	all, err := p.ours(ctx, "")
	if err != nil {
		return nil, err
	}
	n, still := byToken(all, p.me.ID)[spare+id]
	if !still {
		return nil, nil
	}
	return []NIC{n}, nil
}

// List implements nic.Provider.
func (p *Provider) List(ctx context.Context) ([]nic.Card, error) {
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	all, err := p.ours(ctx, "")
	if err != nil {
		return nil, err
	}
	found := byToken(all, p.me.ID)
	var cards []nic.Card
	for _, token := range slices.Sorted(maps.Keys(found)) {
		card, err := p.card(ctx, token, found[token])
		if err != nil {
			return nil, err
		}
		cards = append(cards, card)
	}
	return cards, nil
}

// Permit implements nic.Mover: NICs of a cloud are not moved. That none may take the NIC over any more is so already.
func (p *Provider) Permit(_ context.Context, token, to, _ string) error {
	if to == "" {
		return nil
	}
	return heddle.Errorf(heddle.BadOption, "permit move of NIC", token, "heddle moves no NICs between instances of "+p.settings.Name, "attach the container in the other machine, and detach it here")
}

// Confirm implements nic.Mover.
func (p *Provider) Confirm(context.Context, string) error { return nil }
