package aliyun

import (
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

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
	all, err := p.ours(ctx, o.Token)
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
		e, err = p.create(ctx, where, o)
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
	return p.card(ctx, o.Token, e)
}

// create makes a NIC, which is attached to no instance yet.
func (p *Provider) create(ctx context.Context, where Network, o nic.Order) (e eni, err error) {
	at, err := p.vSwitch(ctx, where.VSwitch)
	if err != nil {
		return e, err
	}
	params := tagged(tagMachine, p.me.id, tagToken, o.Token, tagNetwork, o.Network)
	params["VSwitchId"], params["SecurityGroupIds"] = where.VSwitch, where.SecurityGroups
	params["NetworkInterfaceName"], params["Description"] = "heddle-"+o.Token, "a container's NIC of "+p.me.id+"; see heddle(1)"
	// The same call, tried again, makes one NIC only.
	params["ClientToken"] = rand.Text()
	if at.v6.IsValid() {
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
	err = p.api.call(ctx, createNIC, o.Token+" on "+where.VSwitch, params, &e)
	return e, err
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
func (p *Provider) card(ctx context.Context, token string, e eni) (c nic.Card, err error) {
	at, err := p.vSwitch(ctx, e.VSwitchID)
	if err != nil {
		return c, err
	}
	network := e.tag(tagNetwork)
	c = nic.Card{Token: token, Network: network, MAC: e.mac(), MTU: p.config.Networks[network].mtu(), Closed: closed, Plugged: e.Status == inUse && e.InstanceID == p.me.id}
	for _, a := range e.addrs() {
		if subnet := at.subnet(a); subnet.IsValid() {
			c.Addrs = append(c.Addrs, netip.PrefixFrom(a, subnet.Bits()))
		}
	}
	if c.Plugged {
		c.Gateways, err = p.gatewaysOf(ctx, c)
	}
	return c, err
}

// gatewaysOf asks for the gateways of a NIC that is plugged in. The metadata service may not have it yet.
func (p *Provider) gatewaysOf(ctx context.Context, c nic.Card) ([]netip.Addr, error) {
	p.mu.Lock()
	known, is := p.gateways[c.MAC]
	p.mu.Unlock()
	if is {
		return known, nil
	}
	for pauses := pauses(); ; {
		all, err := p.meta.gateways(ctx, c.MAC)
		if err == nil {
			p.mu.Lock()
			p.gateways[c.MAC] = all
			p.mu.Unlock()
			return all, nil
		}
		if !errors.Is(err, errNoMetadata) || !wait(ctx, pauses.NextBackOff()) {
			return nil, err
		}
	}
}
