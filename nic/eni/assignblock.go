package eni

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// assignBlocks gives a NIC that many more blocks. A subnet that has none free is noted: addresses are assigned one by one then, for some time.
func (p *Provider) assignBlocks(ctx context.Context, n NIC, at Subnet, f further, count int) error {
	told, err := p.cloud.AssignBlocks(ctx, n.ID, count)
	if heddle.PoolExhausted.In(err) != nil {
		p.crumble(n.Subnet)
		return nil
	}
	if err != nil {
		return err
	}
	var given []netip.Prefix
	for _, text := range told {
		x, err := netip.ParsePrefix(text)
		if err == nil && at.isBlock(x) && !slices.Contains(given, x) && !slices.Contains(f.blocks, x) && !slices.ContainsFunc(n.addrs(), x.Contains) {
			given = append(given, x)
		}
	}
	if len(given) != count || len(told) != count {
		return strange(n.ID, fmt.Sprintf("prefixes were asked for, %d of them, and the answer has %d that the subnet can have given, of %d", count, len(given), len(told)))
	}
	p.note(n.ID, true, given...)
	return nil
}

// assignSixBlock gives a NIC the IPv6 prefix that its blocks need. If the cloud refuses it, the blocks are given back that this process has got, and addresses are assigned
// one by one for some time.
func (p *Provider) assignSixBlock(ctx context.Context, n NIC, at Subnet, f further) error {
	told, err := p.cloud.AssignSixBlock(ctx, n.ID)
	if fault, is := failureOf(err); is && fault.isFinal() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
		defer cancel()
		for _, b := range f.halves { // after an error they stay, and are in no set
			if p.gaveLately(n.ID, b) {
				p.release(ctx, n.ID, b)
			}
		}
		if fault.Fault == Refused {
			p.crumble(n.Subnet)
			return nil
		}
	}
	if err != nil {
		return err
	}
	if len(told) != 1 {
		return strange(n.ID, fmt.Sprintf("an IPv6 prefix was asked for, and the answer has %d", len(told)))
	}
	six, err := netip.ParsePrefix(told[0])
	if err != nil || !at.isSixBlock(six) {
		return strange(n.ID, fmt.Sprintf("an IPv6 prefix was asked for, and the answer has %q", heddle.Clip(told[0])))
	}
	p.note(n.ID, true, six)
	return nil
}
