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

// maxAtOnce is how many addresses a call assigns at most (Alibaba Cloud, ECS API, AssignIpv6Addresses).
const maxAtOnce = 10

// undoTime limits the end of addresses that are not wanted since others were refused.
const undoTime = 10 * time.Second

// Assign implements nic.Addresser. An IPv4 address comes first, and then the IPv6 address that goes with it; what has one of both alone is no set yet, and is
// made whole by the next call.
func (p *Provider) Assign(ctx context.Context, token string, sets int) (card nic.Card, err error) {
	const op = "assign addresses to NIC"
	end, err := p.readdress(ctx, token)
	if err != nil {
		return card, err
	}
	defer end()
	l, err := p.limitsOf(ctx)
	if err != nil {
		return card, err
	}
	if most := p.setsEach(l); sets < 0 || sets > most {
		return card, heddle.Errorf(heddle.TooMuch, op, token, fmt.Sprintf("a NIC of instance type %s may have %d sets of further addresses, not %d", p.me.Type, most, sets), "plug another NIC in")
	}
	pause, began := pauses(), time.Now()
	for {
		n, at, err := p.addressed(ctx, op, token)
		if heddle.NICNotGranted.In(err) != nil && CodeOf(err) == "" && time.Since(began) < p.settings.Lag && wait(ctx, pause.NextBackOff()) {
			continue // the list may be behind
		}
		if err != nil {
			return card, err
		}
		f := p.furtherOf(n, at, l)
		switch {
		case !p.sureOf(n.ID): // the answer of an earlier call was lost: the list may lack what was assigned, and have what was taken off
			if !wait(ctx, pause.NextBackOff()) {
				err = heddle.Wrap(heddle.Waited, op, token, context.Cause(ctx), "try again: it is not known yet what the cloud has done")
			}
		case len(f.whole) >= sets:
			return p.card(ctx, token, n)
		default:
			err = p.assignSome(ctx, n, at, l, f, sets-len(f.whole))
		}
		if err != nil {
			return card, err
		}
	}
}

// assignSome does the next call that brings a NIC nearer to so many more sets.
func (p *Provider) assignSome(ctx context.Context, n NIC, at Subnet, l Limits, f further, more int) (err error) {
	whole, paired := p.settings.Prefixes, l.paired(at)
	crumbled := p.isCrumbled(n.Subnet)
	switch {
	case len(f.half) > 0:
		err = p.assignSix(ctx, n, at, f.half[:min(more, maxAtOnce, len(f.half))])
	case len(f.halves) > 0 && !crumbled:
		err = p.assignSixBlock(ctx, n, at, f)
	case whole && l.NoPrefixes != "":
		return heddle.Errorf(heddle.BadOption, "assign addresses to NIC", n.ID, l.NoPrefixes, "take the key prefixes out of the file of --nic-cloud, or use another type of instance")
	case whole && !crumbled && f.roomForBlock(l, paired):
		err = p.assignBlocks(ctx, n, at, f, f.blocksFor(l, more))
	case !f.roomForSingle(l, paired):
		return heddle.Errorf(heddle.TooMuch, "assign addresses to NIC", n.ID, "it has as many addresses and prefixes as a NIC of instance type "+p.me.Type+" may have", "plug another NIC in")
	default:
		err = p.assignFour(ctx, n, at, f.singlesFor(l, paired, more))
	}
	if err != nil {
		p.doubt(n.ID)
	}
	return err
}

// assignFour gives a NIC that many further IPv4 addresses.
func (p *Provider) assignFour(ctx context.Context, n NIC, at Subnet, count int) error {
	told, err := p.cloud.AssignFours(ctx, n.ID, count)
	if err != nil {
		return err
	}
	var given []netip.Addr
	for _, text := range told {
		if a, err := netip.ParseAddr(text); err == nil && at.usable(a) && !slices.Contains(n.addrs(), a) && !slices.Contains(given, a) {
			given = append(given, a)
		}
	}
	if len(given) != count || len(told) != count {
		return strange(n.ID, fmt.Sprintf("%s asked for, and the answer has %s that the subnet can have given, of %d", heddle.Count(count, "address"), heddle.Count(len(given), "address"), len(told)))
	}
	p.note(n.ID, true, singles(given)...)
	return nil
}

// assignSix gives a NIC the IPv6 addresses that go with IPv4 addresses of it. If the cloud refuses them, those are given back that this process has got: the
// next ones may have better luck. Others stay: a container may have one from a time when sets were of IPv4 alone, or the list is far behind.
func (p *Provider) assignSix(ctx context.Context, n NIC, at Subnet, fours []netip.Addr) error {
	var want []netip.Addr
	for _, a := range fours {
		want = append(want, at.partner(a))
	}
	told, err := p.cloud.AssignSixes(ctx, n.ID, want)
	if f, is := failureOf(err); is && f.isFinal() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
		defer cancel()
		for i, a := range fours { // after an error they stay, and are no sets
			if p.gaveLately(n.ID, single(a)) && p.release(ctx, n.ID, single(want[i])) == nil {
				p.release(ctx, n.ID, single(a))
			}
		}
	}
	if err != nil {
		return err
	}
	for _, a := range want {
		if !slices.ContainsFunc(told, func(text string) bool { x, err := netip.ParseAddr(text); return err == nil && x == a }) {
			return strange(n.ID, fmt.Sprintf("%s was asked for, and the answer does not have it", a))
		}
	}
	p.note(n.ID, true, singles(want)...)
	return nil
}

func strange(id, why string) error {
	return heddle.Errorf(heddle.NotPlugged, "assign addresses to NIC", id, "what the cloud says cannot be used: "+why, "look at the NIC in the cloud's console, and try again")
}
