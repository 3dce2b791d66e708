package eni

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
	return p.takeOff(ctx, op, token, func(n NIC, f further) error {
		for _, set := range f.whole {
			if !slices.ContainsFunc(set, func(x netip.Prefix) bool { return x.Addr() == a }) {
				continue
			}
			if b := f.blockOf(set[0].Addr()); b.IsValid() {
				return heddle.Errorf(heddle.BadArgument, op, token, a.String()+" goes with all others of "+b.String(), "name the prefix, when nobody uses any of them")
			}
			for _, x := range slices.Backward(set) {
				if err := p.release(ctx, n.ID, single(x.Addr())); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// UnassignPrefix implements nic.Prefixer. The NIC's IPv6 prefix stays: the sets of the next one are of it.
func (p *Provider) UnassignPrefix(ctx context.Context, token string, prefix netip.Prefix) error {
	return p.takeOff(ctx, "unassign prefix of NIC", token, func(n NIC, f further) error {
		if !slices.Contains(f.blocks, prefix) {
			return nil
		}
		return p.release(ctx, n.ID, prefix)
	})
}

// takeOff finds a NIC and its further addresses, some of which do takes off.
func (p *Provider) takeOff(ctx context.Context, op, token string, do func(NIC, further) error) error {
	end, err := p.readdress(ctx, token)
	if err != nil {
		return err
	}
	defer end()
	l, err := p.limitsOf(ctx)
	if err != nil {
		return err
	}
	n, at, err := p.addressed(ctx, op, token)
	if err != nil {
		return err
	}
	return do(n, p.furtherOf(n, at, l))
}

// release takes an address or a prefix from a NIC. One that it does not have is no error.
func (p *Provider) release(ctx context.Context, id string, a netip.Prefix) error {
	if err := p.cloud.Unassign(ctx, id, a); err != nil {
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

// addressed finds the NIC of a token that this machine has, and its subnet.
func (p *Provider) addressed(ctx context.Context, op, token string) (n NIC, at Subnet, err error) {
	all, err := p.ours(ctx, token)
	if err != nil {
		return n, at, err
	}
	n, found := byToken(all, p.me.ID)[token]
	if !found || !n.isWith(p.me.ID) {
		return n, at, heddle.Errorf(heddle.NICNotGranted, op, token, "this machine has no such NIC", "plug it in first")
	}
	at, err = p.subnet(ctx, n.Subnet)
	return n, at, err
}
