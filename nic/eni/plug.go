package eni

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Plug implements nic.Provider. The cloud chooses MAC addresses: an order that wants a certain one is refused, unless the NIC is there
// already and has it.
func (p *Provider) Plug(ctx context.Context, o nic.Order) (nic.Card, error) {
	if err := o.Check(); err != nil {
		return nic.Card{}, err
	}
	switch {
	case p.settings.Subnets[o.Network] == "":
		return nic.Card{}, heddle.Errorf(heddle.NICNotGranted, "plug NIC", o.Token, "the file of --nic-cloud has no network "+o.Network, "name one of it")
	case o.From != "":
		return nic.Card{}, p.Permit(ctx, o.Token, o.From, "")
	}
	if err := p.start(ctx); err != nil {
		return nic.Card{}, err
	}
	all, err := p.ours(ctx, "")
	if err != nil {
		return nic.Card{}, err
	}
	n, found := byToken(all, p.me.ID)[o.Token]
	switch {
	case found:
		err = fits(n, o)
	case o.MAC != "" && o.Chosen == nil:
		err = heddle.Errorf(heddle.BadOption, "plug NIC", o.Token, p.settings.Name+" chooses the MAC addresses of its NICs", "leave --mac out")
	default:
		n, err = p.createIfRoom(ctx, all, o)
	}
	if err == nil && o.Chosen != nil {
		err = o.Chosen(n.MAC)
	}
	if err == nil {
		n, err = p.drive(ctx, n.ID, plugged)
	}
	if err != nil {
		return nic.Card{}, err
	}
	p.made(o.Token)
	card, err := p.card(ctx, o.Token, n)
	if err == nil {
		err = card.Check(o.Token, o.Network)
	}
	if err != nil {
		return nic.Card{}, heddle.Wrap(heddle.NotPlugged, "plug NIC", o.Token, fmt.Errorf("what the cloud says of it cannot be used: %w", err), "look at the NIC in the cloud's console")
	}
	return card, nil
}

// createIfRoom makes a NIC if the machine may have one more. all are those that it has. NICs that are made at the same time count, too.
func (p *Provider) createIfRoom(ctx context.Context, all []NIC, o nic.Order) (n NIC, err error) {
	slots, _, err := p.room(ctx)
	if err != nil {
		return n, err
	}
	p.mu.Lock()
	p.making[o.Token] = true
	tokens := map[string]bool{}
	for t := range p.making {
		tokens[t] = true
	}
	p.mu.Unlock()
	for _, x := range all {
		tokens[x.Tags[TagToken]] = true
	}
	if len(tokens) > slots {
		p.made(o.Token)
		return n, heddle.Errorf(heddle.NoSlot, "plug NIC", o.Token, fmt.Sprintf("the instance may have %s for containers, and has them", heddle.Count(slots, "NIC")), NoSlot)
	}
	n, err = p.create(ctx, o)
	if err != nil {
		p.made(o.Token) // an answer may be lost: the NIC is listed then
	}
	return n, err
}

// made notes that the NIC of a token is listed if it is there.
func (p *Provider) made(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.making, token)
}

// create makes a NIC, which is attached to no instance yet.
func (p *Provider) create(ctx context.Context, o nic.Order) (n NIC, err error) {
	at, err := p.subnet(ctx, p.settings.Subnets[o.Network])
	if err != nil {
		return n, err
	}
	l, err := p.limitsOf(ctx)
	if err != nil {
		return n, err
	}
	n, err = p.cloud.Create(ctx, Order{Token: o.Token, Network: o.Network, Tags: []Tag{{TagMachine, p.me.ID}, {TagToken, o.Token}, {TagNetwork, o.Network}},
		IPs: o.IPs, Six: at.V6.IsValid() && l.Sixes > 0})
	if err != nil {
		return n, err
	}
	if n.ID == "" || n.MAC == "" {
		return n, heddle.Errorf(heddle.NotPlugged, "make NIC", o.Token, "the answer names no NIC", "try again")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sureFrom[n.ID] = time.Now() // nobody has changed its addresses
	return n, nil
}

// fits returns an error if a NIC is not what is ordered now.
func fits(n NIC, o nic.Order) error {
	why := ""
	switch {
	case n.Tags[TagNetwork] != o.Network:
		why = "it is on network " + n.Tags[TagNetwork]
	case o.MAC != "" && o.Chosen == nil && n.MAC != o.MAC:
		why = "its MAC address is " + string(n.MAC)
	}
	for _, a := range o.IPs {
		if !slices.Contains(n.addrs(), a) {
			why = "it does not have address " + a.String()
		}
	}
	if why == "" {
		return nil
	}
	return heddle.Errorf(heddle.EndpointDiffers, "plug NIC", o.Token, why+", and was ordered before with other settings", "unplug it first, or order with another token")
}

// card is a NIC as the agent sees it.
func (p *Provider) card(ctx context.Context, token string, n NIC) (nic.Card, error) {
	at, err := p.subnet(ctx, n.Subnet)
	if err != nil {
		return nic.Card{}, err
	}
	c := nic.Card{Token: token, Network: n.Tags[TagNetwork], MAC: n.MAC, MTU: p.settings.MTU, Closed: p.settings.Closed, Plugged: n.State == Attached && n.Instance == p.me.ID}
	for _, a := range n.addrs() {
		if on, gateway := at.of(a); on.IsValid() {
			c.Addrs, c.Gateways = append(c.Addrs, netip.PrefixFrom(a, on.Bits())), append(c.Gateways, gateway)
		}
	}
	l, err := p.limitsOf(ctx)
	f := p.furtherOf(n, at, l)
	c.Further, c.Prefixes, c.Full = f.whole, f.blocks, !f.hasRoom(l, l.paired(at), p.settings.Prefixes, p.isCrumbled(n.Subnet))
	return c, err
}
