package aliyun

import (
	"context"
	"fmt"
	"net/netip"

	"go4.org/netipx"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
)

// gateway is the router of a vSwitch's subnet: its third address from the end (Alibaba Cloud, "vSwitch": the last three are the system's; so does
// Terway).
func gateway(subnet netip.Prefix) netip.Addr { return netipx.PrefixLastIP(subnet).Prev().Prev() }

// subnet is a vSwitch with these prefixes, of which v6 may be the zero value. The first IPv4 address and the last three are the system's (Alibaba Cloud,
// "vSwitch").
func subnet(v4, v6 netip.Prefix) eni.Subnet {
	s := eni.Subnet{V4: v4, V6: v6, Gateway4: gateway(v4), First: v4.Masked().Addr().Next()}
	s.Last = s.Gateway4.Prev()
	if v6.IsValid() {
		s.Gateway6 = gateway(v6)
	}
	return s
}

// Subnet implements eni.Cloud.
func (c *ecs) Subnet(ctx context.Context, id string) (eni.Subnet, error) {
	var answer struct {
		VSwitches struct {
			VSwitch []struct {
				CidrBlock, Ipv6CidrBlock string
			}
		}
	}
	if err := c.api.call(ctx, describeVSw, id, map[string]any{"VSwitchId": id}, &answer); err != nil {
		return eni.Subnet{}, err
	}
	if len(answer.VSwitches.VSwitch) != 1 {
		return eni.Subnet{}, heddle.Errorf(heddle.BadArgument, describeVSw.Name, id, "the region has no such vSwitch", "correct the file of --nic-cloud")
	}
	x, v6 := answer.VSwitches.VSwitch[0], netip.Prefix{}
	v4, err := netip.ParsePrefix(x.CidrBlock)
	if err == nil && x.Ipv6CidrBlock != "" {
		v6, err = netip.ParsePrefix(x.Ipv6CidrBlock)
	}
	if err != nil {
		return eni.Subnet{}, heddle.Wrap(heddle.NotPlugged, describeVSw.Name, id, err, "look at the vSwitch in the cloud's console")
	}
	return subnet(v4, v6), nil
}

// kind is what a type of instance may have.
type kind struct {
	EniQuantity                 int // NICs
	EniPrivateIpAddressQuantity int // IPv4 addresses of a NIC, the first one among them
	EniIpv6AddressQuantity      int // IPv6 addresses of a NIC
}

// Limits implements eni.Cloud.
func (c *ecs) Limits(ctx context.Context) (eni.Limits, error) {
	var answer struct {
		InstanceTypes struct{ InstanceType []kind }
	}
	err := c.api.call(ctx, describeTypes, c.me.kind, map[string]any{"InstanceTypes": []string{c.me.kind}}, &answer)
	if err == nil && len(answer.InstanceTypes.InstanceType) != 1 {
		err = heddle.Errorf(heddle.NotPlugged, describeTypes.Name, c.me.kind, fmt.Sprintf("the API describes %d types of that name", len(answer.InstanceTypes.InstanceType)), "try again")
	}
	if err != nil {
		return eni.Limits{}, err
	}
	k := answer.InstanceTypes.InstanceType[0]
	return eni.Limits{NICs: k.EniQuantity, Fours: k.EniPrivateIpAddressQuantity, Sixes: k.EniIpv6AddressQuantity}, nil
}
