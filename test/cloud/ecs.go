package cloud

import (
	"context"
	"slices"
)

// actions are those that Alibaba Cloud's API has.
var actions = map[string]func(*Cloud, context.Context, query) (any, error){
	"CreateNetworkInterface": func(c *Cloud, ctx context.Context, q query) (any, error) {
		s, err := c.create(ctx, q)
		return describe(s), err
	},
	"AttachNetworkInterface": func(c *Cloud, _ context.Context, q query) (any, error) {
		_, err := c.attach(q)
		return nothing, err
	},
	"DetachNetworkInterface": func(c *Cloud, _ context.Context, q query) (any, error) { return nothing, c.detach(q) },
	"DeleteNetworkInterface": func(c *Cloud, ctx context.Context, q query) (any, error) { return nothing, c.delete(ctx, q) },
	"DescribeNetworkInterfaces": func(c *Cloud, _ context.Context, q query) (any, error) {
		found, next := c.list(q)
		var all []any
		for _, s := range found {
			all = append(all, c.told(s))
		}
		return map[string]any{"NextToken": next, "NetworkInterfaceSets": map[string]any{"NetworkInterfaceSet": all}}, nil
	},
	"DescribeInstanceTypes": (*Cloud).describeTypes,
	"DescribeVSwitches":     (*Cloud).describeVSwitches,

	"AssignPrivateIpAddresses": func(c *Cloud, ctx context.Context, q query) (any, error) {
		given, err := c.assignFours(ctx, q)
		set := map[string]any{"NetworkInterfaceId": q["NetworkInterfaceId"], "PrivateIpSet": map[string]any{"PrivateIpAddress": given}}
		if q["Ipv4PrefixCount"] != "" {
			set = map[string]any{"NetworkInterfaceId": q["NetworkInterfaceId"], "Ipv4PrefixSet": map[string]any{"Ipv4Prefixes": given}}
		}
		return map[string]any{"AssignedPrivateIpAddressesSet": set}, err
	},
	"AssignIpv6Addresses": func(c *Cloud, ctx context.Context, q query) (any, error) {
		given, err := c.assignSixes(ctx, q)
		if q["Ipv6PrefixCount"] != "" {
			return map[string]any{"NetworkInterfaceId": q["NetworkInterfaceId"], "Ipv6PrefixSets": map[string]any{"Ipv6Prefix": given}}, err
		}
		return map[string]any{"NetworkInterfaceId": q["NetworkInterfaceId"], "Ipv6Sets": map[string]any{"Ipv6Address": given}}, err
	},
	"UnassignPrivateIpAddresses": func(c *Cloud, ctx context.Context, q query) (any, error) { return nothing, c.unassignFours(ctx, q) },
	"UnassignIpv6Addresses":      func(c *Cloud, ctx context.Context, q query) (any, error) { return nothing, c.unassignSixes(ctx, q) },
}

// nothing is an answer that says nothing.
var nothing = struct{}{}

func (c *Cloud) describeTypes(_ context.Context, q query) (any, error) {
	var all []any
	if slices.Contains(q.list("InstanceTypes"), c.Type) {
		all = append(all, map[string]any{"InstanceTypeId": c.Type, "EniQuantity": c.NICs, "EniPrivateIpAddressQuantity": c.IPv4s, "EniIpv6AddressQuantity": c.IPv6s})
	}
	return map[string]any{"InstanceTypes": map[string]any{"InstanceType": all}}, nil
}

func (c *Cloud) describeVSwitches(_ context.Context, q query) (any, error) {
	var all []any
	if v, is := c.vSwitch(q["VSwitchId"]); is {
		text := map[string]any{"VSwitchId": q["VSwitchId"], "CidrBlock": v.V4.String(), "AvailableIpAddressCount": v.Free, "Ipv6CidrBlock": ""}
		if v.V6.IsValid() {
			text["Ipv6CidrBlock"] = v.V6.String()
		}
		all = append(all, text)
	}
	return map[string]any{"VSwitches": map[string]any{"VSwitch": all}, "TotalCount": len(all)}, nil
}
