package aliyun

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
)

// States of a NIC (ECS API, DescribeNetworkInterfaces).
const (
	creating     = "Creating"
	available    = "Available" // it is attached to no instance
	attaching    = "Attaching"
	inUse        = "InUse"
	detachingNIC = "Detaching"
	deleting     = "Deleting"
	createFailed = "CreateFailed"
)

// described is a NIC as the API describes it.
type described struct {
	ID         string `json:"NetworkInterfaceId"`
	MAC        string `json:"MacAddress"`
	Status     string
	VSwitchID  string `json:"VSwitchId"`
	PrimaryIP  string `json:"PrivateIpAddress"`
	Created    string `json:"CreationTime"`
	InstanceID string `json:"InstanceId"`
	PrivateIPs struct {
		Set []privateIP `json:"PrivateIpSet"`
	} `json:"PrivateIpSets"`
	IPv6 struct {
		Set []struct{ Ipv6Address string } `json:"Ipv6Set"`
	} `json:"Ipv6Sets"`
	Ipv4Prefixes struct {
		Set []struct{ Ipv4Prefix string } `json:"Ipv4PrefixSet"`
	} `json:"Ipv4PrefixSets"`
	Ipv6Prefixes struct {
		Set []struct{ Ipv6Prefix string } `json:"Ipv6PrefixSet"`
	} `json:"Ipv6PrefixSets"`
	Tags struct{ Tag []tag }
}

type tag struct{ TagKey, TagValue string }

type privateIP struct {
	PrivateIpAddress string
	Primary          bool
}

// states are what the API's words mean. Others are eni.Busy.
var states = map[string]eni.State{available: eni.Free, attaching: eni.Attaching, inUse: eni.Attached, detachingNIC: eni.Detaching, createFailed: eni.Failed}

// nic is what the API says, in words that all clouds have.
func (d described) nic() eni.NIC {
	n := eni.NIC{ID: d.ID, State: states[d.Status], Word: d.Status, Instance: d.InstanceID, Subnet: d.VSwitchID, Made: d.Created, Tags: map[string]string{}}
	n.MAC, _ = heddle.ParseMAC(d.MAC)
	n.First, _ = netip.ParseAddr(d.PrimaryIP)
	for _, t := range slices.Backward(d.Tags.Tag) { // of two with one key the first one counts
		n.Tags[t.TagKey] = t.TagValue
	}
	for _, x := range d.PrivateIPs.Set {
		if a, err := netip.ParseAddr(x.PrivateIpAddress); err == nil && !x.Primary && x.PrivateIpAddress != d.PrimaryIP {
			n.Fours = append(n.Fours, a)
		}
	}
	for _, x := range d.IPv6.Set {
		if a, err := netip.ParseAddr(x.Ipv6Address); err == nil {
			n.Sixes = append(n.Sixes, a)
		}
	}
	var blocks []string
	for _, b := range d.Ipv4Prefixes.Set {
		blocks = append(blocks, b.Ipv4Prefix)
	}
	for _, b := range d.Ipv6Prefixes.Set {
		blocks = append(blocks, b.Ipv6Prefix)
	}
	n.Blocks = eni.Blocks(blocks)
	return n
}

// Find implements eni.Cloud.
func (c *ecs) Find(ctx context.Context, object string, f eni.Filter) (all []eni.NIC, err error) {
	params := paramsOf(f)
	for {
		var page struct {
			NextToken            string
			NetworkInterfaceSets struct {
				NetworkInterfaceSet []described
			}
		}
		if err := c.api.call(ctx, describeNICs, object, params, &page); err != nil {
			return nil, err
		}
		for _, d := range page.NetworkInterfaceSets.NetworkInterfaceSet {
			if d.Status != deleting {
				all = append(all, d.nic())
			}
		}
		switch {
		case page.NextToken == "" || page.NextToken == params["NextToken"] || len(page.NetworkInterfaceSets.NetworkInterfaceSet) == 0:
			return all, nil
		case len(all) > eni.MaxListed:
			return nil, heddle.Errorf(heddle.NICServiceDown, describeNICs.Name, object, fmt.Sprintf("it lists more than %d NICs", eni.MaxListed), "try again")
		}
		params["NextToken"] = page.NextToken
	}
}

// paramsOf are a filter as the API takes it.
func paramsOf(f eni.Filter) map[string]any {
	params := map[string]any{"MaxResults": 100}
	if f.ID != "" {
		params["NetworkInterfaceId"] = []string{f.ID}
	}
	if f.Instance != "" {
		params["InstanceId"] = f.Instance
	}
	var tags []eni.Tag
	if f.Machine != "" {
		tags = append(tags, eni.Tag{Key: eni.TagMachine, Value: f.Machine})
	}
	if f.Token != "" {
		tags = append(tags, eni.Tag{Key: eni.TagToken, Value: f.Token})
	}
	if len(tags) > 0 {
		params["Tag"] = tagList(tags)
	}
	return params
}

// tagList are tags as the API takes them.
func tagList(tags []eni.Tag) (list []map[string]any) {
	for _, t := range tags {
		list = append(list, map[string]any{"Key": t.Key, "Value": t.Value})
	}
	return list
}
