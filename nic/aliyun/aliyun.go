// Package aliyun plugs NICs into this machine, an ECS instance of Alibaba Cloud, by the cloud's API: each is an elastic network
// interface (ENI) of its own, made, attached, detached and deleted when the agent asks. It keeps no record: whose NIC it is
// says a tag in the cloud.
package aliyun

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Provider implements nic.Provider. It asks what this machine is when it is first needed, so that an agent starts without the
// cloud, too.
type Provider struct {
	config Config
	meta   *metadata

	// starting is held while api and me are made.
	starting sync.Mutex
	api      *api
	me       instance

	mu       sync.Mutex
	gateways map[heddle.MAC][]netip.Addr // of NICs that are attached
	switches map[string]vSwitch          // by ID
	limit    int                         // how many NICs an instance of this type may have; 0 if it is not known yet
}

var _ nic.Provider = (*Provider)(nil)

// Open returns the provider of a file; it does not ask anything yet. Its errors are of code heddle.BadArgument.
func Open(file string) (*Provider, error) {
	c, err := readConfig(file)
	if err == nil {
		_, err = c.pool()
	}
	if err != nil {
		return nil, err
	}
	return &Provider{config: c, meta: newMetadata(), gateways: map[heddle.MAC][]netip.Addr{}, switches: map[string]vSwitch{}}, nil
}

// start finds out what this machine is.
func (p *Provider) start(ctx context.Context) error {
	p.starting.Lock()
	defer p.starting.Unlock()
	if p.api != nil {
		return nil
	}
	me, err := p.meta.instance(ctx)
	if err != nil {
		return err
	}
	a, err := newAPI(p.config, me.region)
	if err != nil {
		return err
	}
	p.api, p.me = a, me
	return nil
}

// ours asks for the NICs that were ordered for this machine; with a token, for those of the token.
func (p *Provider) ours(ctx context.Context, token string) ([]eni, error) {
	if id, is := strings.CutPrefix(token, spare); is {
		all, err := p.api.find(ctx, token, map[string]any{"NetworkInterfaceId": []string{id}})
		return slices.DeleteFunc(all, func(e eni) bool { return e.tag(tagMachine) != p.me.id }), err
	}
	tags := []string{tagMachine, p.me.id}
	if token != "" {
		tags = append(tags, tagToken, token)
	}
	return p.api.find(ctx, p.me.id, tagged(tags...))
}

// Unplug implements nic.Provider.
func (p *Provider) Unplug(ctx context.Context, token string) error {
	if err := nic.CheckToken(token); err != nil {
		return err
	}
	if err := p.start(ctx); err != nil {
		return err
	}
	all, err := p.ours(ctx, token)
	if err != nil {
		return err
	}
	for _, e := range all {
		if _, err := p.drive(ctx, e.ID, gone); err != nil {
			return err
		}
		p.mu.Lock()
		delete(p.gateways, e.mac())
		p.mu.Unlock()
	}
	return nil
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
