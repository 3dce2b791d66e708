package aliyun

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"go4.org/netipx"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// vSwitch is a subnet of the cloud.
type vSwitch struct {
	v4, v6 netip.Prefix // v6 is the zero value if it has none
}

// subnet is the vSwitch's subnet that has an address; the zero value if none has.
func (v vSwitch) subnet(a netip.Addr) netip.Prefix {
	for _, s := range []netip.Prefix{v.v4, v.v6} {
		if s.Contains(a) {
			return s
		}
	}
	return netip.Prefix{}
}

// gateway is the router of a vSwitch's subnet: its third address from the end (Alibaba Cloud, "vSwitch": the last three are the system's; so does
// Terway).
func gateway(subnet netip.Prefix) netip.Addr { return netipx.PrefixLastIP(subnet).Prev().Prev() }

// vSwitch asks for a vSwitch, if that has not been done.
func (p *Provider) vSwitch(ctx context.Context, id string) (v vSwitch, err error) {
	p.mu.Lock()
	v, is := p.switches[id]
	p.mu.Unlock()
	if is {
		return v, nil
	}
	var answer struct {
		VSwitches struct {
			VSwitch []struct {
				CidrBlock, Ipv6CidrBlock string
			}
		}
	}
	if err := p.api.call(ctx, describeVSw, id, map[string]any{"VSwitchId": id}, &answer); err != nil {
		return v, err
	}
	if len(answer.VSwitches.VSwitch) != 1 {
		return v, heddle.Errorf(heddle.BadArgument, describeVSw.name, id, "the region has no such vSwitch", "correct the file of --nic-cloud")
	}
	x := answer.VSwitches.VSwitch[0]
	if v.v4, err = netip.ParsePrefix(x.CidrBlock); err == nil && x.Ipv6CidrBlock != "" {
		v.v6, err = netip.ParsePrefix(x.Ipv6CidrBlock)
	}
	if err != nil {
		return v, heddle.Wrap(heddle.NotPlugged, describeVSw.name, id, err, "look at the vSwitch in the cloud's console")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.switches[id] = v
	return v, nil
}

// watchTime is how long a watch waits. The cloud tells nobody of changes.
const watchTime = time.Minute

// Watch implements nic.Provider: it does not know of changes.
func (p *Provider) Watch(ctx context.Context, since string) (string, error) {
	select {
	case <-time.After(watchTime):
	case <-ctx.Done():
	}
	return since, nil
}

// Describe implements nic.Provider.
func (p *Provider) Describe(ctx context.Context) (nic.Offer, error) {
	if err := p.start(ctx); err != nil {
		return nic.Offer{}, err
	}
	o := nic.Offer{Machine: p.me.id, Networks: slices.Sorted(maps.Keys(p.config.Networks))}
	k, err := p.kindOf(ctx)
	if err != nil {
		return o, err
	}
	o.Addresses = k.sets()
	o.DHCP = o.Networks // a vSwitch's own server leases a NIC its primary address, for which its card is
	o.Slots, o.Free, err = p.room(ctx)
	return o, err
}

// room returns how many NICs the agent may have, and how many more it can have now.
func (p *Provider) room(ctx context.Context) (slots, free int, err error) {
	k, err := p.kindOf(ctx)
	if err != nil {
		return 0, 0, err
	}
	attached, err := p.api.find(ctx, p.me.id, filter{instance: p.me.id})
	if err != nil {
		return 0, 0, err
	}
	slots, free = room(k.EniQuantity, p.config.Most, p.me.id, attached)
	return slots, free, nil
}

// room is Provider.room. limit is the machine's, with its primary NIC; most is the configuration's, or 0. NICs that others have attached take
// room, too.
func room(limit, most int, machine string, attached []eni) (slots, free int) {
	own := 0
	for _, e := range attached {
		if e.tag(tagMachine) == machine {
			own++
		}
	}
	slots = max(0, limit-(len(attached)-own))
	if most > 0 {
		slots = min(slots, most)
	}
	return slots, max(0, slots-own)
}

// kind is what a type of instance may have.
type kind struct {
	EniQuantity                 int // NICs
	EniPrivateIpAddressQuantity int // IPv4 addresses of a NIC, the first one among them
	EniIpv6AddressQuantity      int // IPv6 addresses of a NIC
}

// kindOf asks what this machine may have, if that has not been done.
func (p *Provider) kindOf(ctx context.Context) (kind, error) {
	p.mu.Lock()
	known := p.kind
	p.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	var answer struct {
		InstanceTypes struct{ InstanceType []kind }
	}
	err := p.api.call(ctx, describeTypes, p.me.kind, map[string]any{"InstanceTypes": []string{p.me.kind}}, &answer)
	if err == nil && len(answer.InstanceTypes.InstanceType) != 1 {
		err = heddle.Errorf(heddle.NotPlugged, describeTypes.name, p.me.kind, fmt.Sprintf("the API describes %d types of that name", len(answer.InstanceTypes.InstanceType)), "try again")
	}
	if err != nil {
		return kind{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kind = &answer.InstanceTypes.InstanceType[0]
	return *p.kind, nil
}
