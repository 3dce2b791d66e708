package aliyun

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// vSwitch is a subnet of the cloud.
type vSwitch struct {
	v4, v6 netip.Prefix // v6 is the zero value if it has none
}

// subnet is the vSwitch's subnet that has an address.
func (v vSwitch) subnet(a netip.Addr) netip.Prefix {
	if v.v6.Contains(a) {
		return v.v6
	}
	return v.v4
}

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
		return v, refused(describeVSw.name, id, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.switches[id] = v
	return v, nil
}

// mtu of the network's NICs in bytes.
func (n Network) mtu() int {
	if n.MTU == 0 {
		return defaultMTU
	}
	return n.MTU
}

// Describe implements nic.Provider.
func (p *Provider) Describe(ctx context.Context) (nic.Offer, error) {
	if err := p.start(ctx); err != nil {
		return nic.Offer{}, err
	}
	limit, err := p.mostNICs(ctx)
	if err != nil {
		return nic.Offer{}, err
	}
	attached, err := p.api.find(ctx, p.me.id, map[string]any{"InstanceId": p.me.id})
	if err != nil {
		return nic.Offer{}, err
	}
	o := nic.Offer{Machine: p.me.id, Networks: slices.Sorted(maps.Keys(p.config.Networks))}
	o.Slots, o.Free = room(limit, p.config.Most, p.me.id, attached)
	return o, nil
}

// room returns how many NICs the agent may have, and how many more it can have now. limit is the machine's, with its primary NIC; most is the
// configuration's, or 0. NICs that others have attached take room, too.
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

// mostNICs is how many NICs an instance of this type may have.
func (p *Provider) mostNICs(ctx context.Context) (int, error) {
	p.mu.Lock()
	limit := p.limit
	p.mu.Unlock()
	if limit > 0 {
		return limit, nil
	}
	var answer struct {
		InstanceTypes struct {
			InstanceType []struct{ EniQuantity int }
		}
	}
	err := p.api.call(ctx, describeTypes, p.me.kind, map[string]any{"InstanceTypes": []string{p.me.kind}}, &answer)
	if err == nil && len(answer.InstanceTypes.InstanceType) != 1 {
		err = refused(describeTypes.name, p.me.kind, fmt.Errorf("the API describes %d types of that name", len(answer.InstanceTypes.InstanceType)))
	}
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = answer.InstanceTypes.InstanceType[0].EniQuantity
	return p.limit, nil
}
