package aliyun

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// mtu of the cloud's NICs in bytes.
const mtu = 1500

// Plug implements nic.Provider. The cloud chooses MAC addresses: an order that wants a certain one is refused, unless the NIC is there
// already and has it.
func (p *Provider) Plug(ctx context.Context, o nic.Order) (nic.Card, error) {
	if err := o.Check(); err != nil {
		return nic.Card{}, err
	}
	where, is := p.config.Networks[o.Network]
	switch {
	case !is:
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
	e, found := byToken(all, p.me.id)[o.Token]
	switch {
	case found:
		err = fits(e, o)
	case o.MAC != "" && o.Chosen == nil:
		err = heddle.Errorf(heddle.BadOption, "plug NIC", o.Token, "Alibaba Cloud chooses the MAC addresses of its NICs", "leave --mac out")
	default:
		e, err = p.createIfRoom(ctx, all, where, o)
	}
	if err == nil && o.Chosen != nil {
		err = o.Chosen(e.mac())
	}
	if err == nil {
		e, err = p.drive(ctx, e.ID, plugged)
	}
	if err != nil {
		return nic.Card{}, err
	}
	p.made(o.Token)
	card, err := p.card(ctx, o.Token, e)
	if err == nil {
		err = card.Check(o.Token, o.Network)
	}
	if err != nil {
		return nic.Card{}, heddle.Wrap(heddle.NotPlugged, "plug NIC", o.Token, fmt.Errorf("what the cloud says of it cannot be used: %w", err), "look at the NIC in the cloud's console")
	}
	return card, nil
}

// createIfRoom makes a NIC if the machine may have one more. all are those that it has. NICs that are made at the same time count, too.
func (p *Provider) createIfRoom(ctx context.Context, all []eni, where Network, o nic.Order) (e eni, err error) {
	slots, _, err := p.room(ctx)
	if err != nil {
		return e, err
	}
	p.mu.Lock()
	p.making[o.Token] = true
	tokens := map[string]bool{}
	for t := range p.making {
		tokens[t] = true
	}
	p.mu.Unlock()
	for _, x := range all {
		tokens[x.tag(tagToken)] = true
	}
	if len(tokens) > slots {
		p.made(o.Token)
		return e, heddle.Errorf(heddle.NoSlot, "plug NIC", o.Token, fmt.Sprintf("the instance may have %s for containers, and has them", heddle.Count(slots, "NIC")), noSlot)
	}
	e, err = p.create(ctx, where, o)
	if err != nil {
		p.made(o.Token) // an answer may be lost: the NIC is listed then
	}
	return e, err
}

// made notes that the NIC of a token is listed if it is there.
func (p *Provider) made(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.making, token)
}

// create makes a NIC, which is attached to no instance yet.
func (p *Provider) create(ctx context.Context, where Network, o nic.Order) (e eni, err error) {
	at, err := p.vSwitch(ctx, where.VSwitch)
	if err != nil {
		return e, err
	}
	k, err := p.kindOf(ctx)
	if err != nil {
		return e, err
	}
	params := map[string]any{"Tag": tagList(tagMachine, p.me.id, tagToken, o.Token, tagNetwork, o.Network), "VSwitchId": where.VSwitch, "SecurityGroupIds": where.SecurityGroups,
		"NetworkInterfaceName": "heddle-" + o.Token, "Description": "a container's NIC of " + p.me.id + "; see heddle(1)",
		"ClientToken": rand.Text()} // the same call, tried again, makes one NIC only
	if at.v6.IsValid() && k.EniIpv6AddressQuantity > 0 {
		params["Ipv6AddressCount"] = 1
	}
	for _, a := range o.IPs {
		if a.Is4() {
			params["PrimaryIpAddress"] = a.String()
			continue
		}
		delete(params, "Ipv6AddressCount")
		params["Ipv6Address"] = []string{a.String()}
	}
	object := o.Token + " on " + where.VSwitch
	if err := p.api.call(ctx, createNIC, object, params, &e); err != nil {
		return e, err
	}
	if e.ID == "" || e.mac() == "" {
		return e, heddle.Errorf(heddle.NotPlugged, createNIC.name, object, "the answer names no NIC", "try again")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sureFrom[e.ID] = time.Now() // nobody has changed its addresses
	return e, nil
}

// fits returns an error if a NIC is not what is ordered now.
func fits(e eni, o nic.Order) error {
	why := ""
	switch {
	case e.tag(tagNetwork) != o.Network:
		why = "it is on network " + e.tag(tagNetwork)
	case o.MAC != "" && o.Chosen == nil && e.mac() != o.MAC:
		why = "its MAC address is " + e.MAC
	}
	for _, a := range o.IPs {
		if !slices.Contains(e.addrs(), a) {
			why = "it does not have address " + a.String()
		}
	}
	if why == "" {
		return nil
	}
	return heddle.Errorf(heddle.EndpointDiffers, "plug NIC", o.Token, why+", and was ordered before with other settings", "unplug it first, or order with another token")
}

// card is a NIC as the agent sees it.
func (p *Provider) card(ctx context.Context, token string, e eni) (nic.Card, error) {
	at, err := p.vSwitch(ctx, e.VSwitchID)
	if err != nil {
		return nic.Card{}, err
	}
	c := nic.Card{Token: token, Network: e.tag(tagNetwork), MAC: e.mac(), MTU: mtu, Closed: closed, Plugged: e.Status == inUse && e.InstanceID == p.me.id}
	for _, a := range e.addrs() {
		if subnet := at.subnet(a); subnet.IsValid() {
			c.Addrs, c.Gateways = append(c.Addrs, netip.PrefixFrom(a, subnet.Bits())), append(c.Gateways, gateway(subnet))
		}
	}
	k, err := p.kindOf(ctx)
	c.Further = p.furtherOf(e, at, k).whole
	return c, err
}
