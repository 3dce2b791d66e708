// Package aliyun plugs NICs into this machine, an ECS instance of Alibaba Cloud, by the cloud's API: each is an elastic network
// interface (ENI) of its own, made, attached, detached and deleted when the agent asks. It keeps no record: whose NIC it is
// says a tag in the cloud.
package aliyun

import (
	"context"
	"crypto/x509"
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
	config      Config
	authorities *x509.CertPool
	meta        *metadata
	role        *role

	// starting holds one value while api and me are made; they do not change after that.
	starting chan struct{}
	api      *api
	me       instance

	mu       sync.Mutex
	switches map[string]vSwitch // by ID
	kind     *kind              // nil if it is not known yet
	// making are tokens whose NICs are being made, or may not be listed yet.
	making map[string]bool
	// lately are the addresses that NICs have got or lost, by the NIC's ID. The list may not say so yet.
	lately map[string]map[netip.Addr]change
	// sureFrom is when the list will have all that was done to a NIC's addresses; for those that are not in it, it is some time after opened, when this was first
	// used.
	sureFrom map[string]time.Time
	opened   time.Time
	// readdressing holds one value while the addresses of a NIC are changed.
	readdressing chan struct{}
}

var (
	_ nic.Provider  = (*Provider)(nil)
	_ nic.Addresser = (*Provider)(nil)
)

// Open returns the provider of a file; it does not ask anything yet. Its errors are of code heddle.BadArgument.
func Open(file string) (*Provider, error) {
	c, err := readConfig(file)
	if err != nil {
		return nil, err
	}
	authorities, err := c.authorities()
	if err != nil {
		return nil, err
	}
	m := newMetadata()
	return &Provider{config: c, authorities: authorities, meta: m, role: newRole(m), starting: make(chan struct{}, 1), switches: map[string]vSwitch{}, making: map[string]bool{},
		lately: map[string]map[netip.Addr]change{}, sureFrom: map[string]time.Time{}, readdressing: make(chan struct{}, 1)}, nil
}

// start finds out what this machine is.
func (p *Provider) start(ctx context.Context) error {
	select {
	case p.starting <- struct{}{}:
		defer func() { <-p.starting }()
	case <-ctx.Done():
		return heddle.Wrap(heddle.Waited, "wait for", "the metadata service", context.Cause(ctx), "try again")
	}
	if p.api != nil {
		return nil
	}
	me, err := p.meta.instance(ctx)
	if err != nil {
		return err
	}
	a, err := newAPI(p.config, p.authorities, me.region, p.role)
	if err != nil {
		return err
	}
	p.api, p.me = a, me
	if p.opened.IsZero() {
		p.opened = time.Now() // by now an agent that ran before has ended
	}
	return nil
}

// ours asks for the NICs that were ordered for this machine; with a token, for those of the token.
func (p *Provider) ours(ctx context.Context, token string) ([]eni, error) {
	return p.api.find(ctx, p.me.id, filter{machine: p.me.id, token: token})
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
	for _, e := range all {
		if _, err := p.drive(ctx, e.ID, gone); err != nil {
			return err
		}
		p.forget(e.ID)
	}
	p.made(token)
	return nil
}

// unwanted are the NICs of a token that nobody wants any more. A spare one is looked at again: it may be the one that counts by now.
func (p *Provider) unwanted(ctx context.Context, token string) ([]eni, error) {
	id, isSpare := strings.CutPrefix(token, spare)
	if !isSpare {
		return p.ours(ctx, token)
	}
	all, err := p.ours(ctx, "")
	if err != nil {
		return nil, err
	}
	e, still := byToken(all, p.me.id)[spare+id]
	if !still {
		return nil, nil
	}
	return []eni{e}, nil
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
	found := byToken(all, p.me.id)
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

// Permit implements nic.Mover: NICs of this cloud are not moved. That none may take the NIC over any more is so already.
func (p *Provider) Permit(_ context.Context, token, to, _ string) error {
	if to == "" {
		return nil
	}
	return heddle.Errorf(heddle.BadOption, "permit move of NIC", token, "heddle moves no NICs between instances of Alibaba Cloud", "attach the container in the other machine, and detach it here")
}

// Confirm implements nic.Mover.
func (p *Provider) Confirm(context.Context, string) error { return nil }
