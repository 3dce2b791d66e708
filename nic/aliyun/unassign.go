package aliyun

import (
	"context"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Unassign implements nic.Addresser. The IPv6 address goes first: what is left of a set if this ends in between is made whole by the next Assign.
func (p *Provider) Unassign(ctx context.Context, token string, a netip.Addr) error {
	const op = "unassign address of NIC"
	end, err := p.readdress(ctx, token)
	if err != nil {
		return err
	}
	defer end()
	k, err := p.kindOf(ctx)
	if err != nil {
		return err
	}
	e, at, err := p.addressed(ctx, op, token)
	if err != nil {
		return err
	}
	for _, set := range p.furtherOf(e, at, k).whole {
		if !slices.ContainsFunc(set, func(x netip.Prefix) bool { return x.Addr() == a }) {
			continue
		}
		for _, x := range slices.Backward(set) {
			act := unassignFours
			if x.Addr().Is6() {
				act = unassignSixes
			}
			if err := p.release(ctx, act, e.ID, x.Addr()); err != nil {
				return err
			}
		}
	}
	return nil
}

// release takes an address from a NIC. One that it does not have is no error.
func (p *Provider) release(ctx context.Context, act action, id string, a netip.Addr) error {
	key := "PrivateIpAddress"
	if act == unassignSixes {
		key = "Ipv6Address"
	}
	err := p.api.call(ctx, act, id, map[string]any{"NetworkInterfaceId": id, key: []string{a.String()}}, &struct{}{})
	if codeOf(err) == "InvalidIp.IpUnassigned" {
		err = nil
	}
	if err != nil {
		p.doubt(id, a)
		return err
	}
	p.note(id, false, a)
	return nil
}

// readdress begins a change of addresses, which ends by end. There is one at a time.
func (p *Provider) readdress(ctx context.Context, token string) (end func(), err error) {
	if err := nic.CheckToken(token); err != nil {
		return nil, err
	}
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	select {
	case p.readdressing <- struct{}{}:
		return func() { <-p.readdressing }, nil
	case <-ctx.Done():
		return nil, heddle.Wrap(heddle.Waited, "wait for", "another change of addresses", context.Cause(ctx), "try again")
	}
}

// addressed finds the NIC of a token that this machine has, and its vSwitch.
func (p *Provider) addressed(ctx context.Context, op, token string) (e eni, at vSwitch, err error) {
	all, err := p.ours(ctx, token)
	if err != nil {
		return e, at, err
	}
	e, found := byToken(all, p.me.id)[token]
	if !found || !e.isWith(p.me.id) {
		return e, at, heddle.Errorf(heddle.NICNotGranted, op, token, "this machine has no such NIC", "plug it in first")
	}
	at, err = p.vSwitch(ctx, e.VSwitchID)
	return e, at, err
}
