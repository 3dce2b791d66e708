package aliyun

import (
	"context"
	"crypto/rand"
	"net/netip"

	"github.com/heddle-network/heddle/nic/eni"
)

// Create implements eni.Cloud.
func (c *ecs) Create(ctx context.Context, o eni.Order) (eni.NIC, error) {
	where := c.config.Networks[o.Network]
	params := map[string]any{"Tag": tagList(o.Tags), "VSwitchId": where.VSwitch, "SecurityGroupIds": where.SecurityGroups,
		"NetworkInterfaceName": "heddle-" + o.Token, "Description": "a container's NIC of " + c.me.id + "; see heddle(1)",
		"ClientToken": rand.Text()} // the same call, tried again, makes one NIC only
	if o.Six {
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
	var d described
	err := c.api.call(ctx, createNIC, o.Token+" on "+where.VSwitch, params, &d)
	return d.nic(), err
}

// Change implements eni.Cloud.
func (c *ecs) Change(ctx context.Context, s eni.Step, n eni.NIC) error {
	act := map[eni.Step]eni.Action{eni.Attach: attachNIC, eni.Detach: detachNIC, eni.Delete: deleteNIC}[s]
	params := map[string]any{"NetworkInterfaceId": n.ID}
	if s != eni.Delete {
		params["InstanceId"] = c.me.id
	}
	return c.api.call(ctx, act, n.ID, params, &struct{}{})
}

// AssignFours implements eni.Cloud.
func (c *ecs) AssignFours(ctx context.Context, id string, count int) ([]string, error) {
	var answer struct {
		AssignedPrivateIpAddressesSet struct {
			PrivateIpSet struct{ PrivateIpAddress []string }
		}
	}
	err := c.api.call(ctx, assignFours, id, map[string]any{"NetworkInterfaceId": id, "SecondaryPrivateIpAddressCount": count, "ClientToken": rand.Text()}, &answer)
	return answer.AssignedPrivateIpAddressesSet.PrivateIpSet.PrivateIpAddress, err
}

// AssignSixes implements eni.Cloud.
func (c *ecs) AssignSixes(ctx context.Context, id string, all []netip.Addr) ([]string, error) {
	var texts []string
	for _, a := range all {
		texts = append(texts, a.String())
	}
	var answer struct {
		Ipv6Sets struct{ Ipv6Address []string }
	}
	err := c.api.call(ctx, assignSixes, id, map[string]any{"NetworkInterfaceId": id, "Ipv6Address": texts, "ClientToken": rand.Text()}, &answer)
	return answer.Ipv6Sets.Ipv6Address, err
}

// AssignBlocks implements eni.Cloud.
func (c *ecs) AssignBlocks(ctx context.Context, id string, count int) ([]string, error) {
	var answer struct {
		AssignedPrivateIpAddressesSet struct {
			Ipv4PrefixSet struct{ Ipv4Prefixes []string }
		}
	}
	err := c.api.call(ctx, assignFours, id, map[string]any{"NetworkInterfaceId": id, "Ipv4PrefixCount": count, "ClientToken": rand.Text()}, &answer)
	return answer.AssignedPrivateIpAddressesSet.Ipv4PrefixSet.Ipv4Prefixes, err
}

// AssignSixBlock implements eni.Cloud.
func (c *ecs) AssignSixBlock(ctx context.Context, id string) ([]string, error) {
	var answer struct {
		Ipv6PrefixSets struct{ Ipv6Prefix []string }
	}
	err := c.api.call(ctx, assignSixes, id, map[string]any{"NetworkInterfaceId": id, "Ipv6PrefixCount": 1, "ClientToken": rand.Text()}, &answer)
	return answer.Ipv6PrefixSets.Ipv6Prefix, err
}

// Unassign implements eni.Cloud.
func (c *ecs) Unassign(ctx context.Context, id string, x netip.Prefix) error {
	act, key, text := unassignFours, "PrivateIpAddress", x.Addr().String()
	if x.Addr().Is6() {
		act, key = unassignSixes, "Ipv6Address"
	}
	if !x.IsSingleIP() {
		key, text = map[bool]string{true: "Ipv6Prefix", false: "Ipv4Prefix"}[x.Addr().Is6()], x.String()
	}
	err := c.api.call(ctx, act, id, map[string]any{"NetworkInterfaceId": id, key: []string{text}}, &struct{}{})
	if eni.CodeOf(err) == "InvalidIp.IpUnassigned" {
		return nil
	}
	return err
}
