package cloud

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
)

// ec2Actions are those that EC2's API has: the same tables by other words.
var ec2Actions = map[string]func(*Cloud, context.Context, url.Values) (any, error){
	"CreateNetworkInterface":          (*Cloud).ec2Create,
	"AttachNetworkInterface":          (*Cloud).ec2Attach,
	"ModifyNetworkInterfaceAttribute": (*Cloud).ec2Modify,
	"DetachNetworkInterface":          (*Cloud).ec2Detach,
	"DeleteNetworkInterface": func(c *Cloud, ctx context.Context, v url.Values) (any, error) {
		err := c.delete(ctx, query{"NetworkInterfaceId": v.Get("NetworkInterfaceId")})
		return returned{Return: true}, busy(err, "CurrentlyInUse")
	},
	"DescribeNetworkInterfaces": (*Cloud).ec2Describe,
	"DescribeInstanceTypes":     (*Cloud).ec2Types,
	"DescribeSubnets":           (*Cloud).ec2Subnets,

	"AssignPrivateIpAddresses":   (*Cloud).ec2AssignFours,
	"AssignIpv6Addresses":        (*Cloud).ec2AssignSixes,
	"UnassignPrivateIpAddresses": unassigning("PrivateIpAddress", "PrivateIpAddress", "Ipv4Prefix", (*Cloud).unassignFours),
	"UnassignIpv6Addresses":      unassigning("Ipv6Addresses", "Ipv6Address", "Ipv6Prefix", (*Cloud).unassignSixes),
}

// listed are the values name.1, name.2 and so on, with what follows, as parameters of the tables by another name.
func listed(q query, v url.Values, name, follows, as string) {
	for i := 1; v.Get(fmt.Sprintf("%s.%d%s", name, i, follows)) != ""; i++ {
		q[fmt.Sprintf("%s.%d", as, i)] = v.Get(fmt.Sprintf("%s.%d%s", name, i, follows))
	}
}

func (c *Cloud) ec2Create(ctx context.Context, v url.Values) (any, error) {
	if v.Get("Ipv6AddressCount") != "" && v.Get("Ipv6Addresses.1.Ipv6Address") != "" {
		return nil, fail("InvalidParameterCombination")
	}
	q := query{"ClientToken": v.Get("ClientToken"), "VSwitchId": v.Get("SubnetId"), "PrimaryIpAddress": v.Get("PrivateIpAddress")}
	if n := v.Get("Ipv6AddressCount"); n != "0" { // without it, the subnet gives an address by itself
		q["Ipv6AddressCount"] = "1"
	}
	listed(q, v, "SecurityGroupId", "", "SecurityGroupIds")
	listed(q, v, "Ipv6Addresses", ".Ipv6Address", "Ipv6Address")
	for i := 1; v.Get(fmt.Sprintf("TagSpecification.1.Tag.%d.Key", i)) != ""; i++ {
		for _, part := range []string{"Key", "Value"} {
			q[fmt.Sprintf("Tag.%d.%s", i, part)] = v.Get(fmt.Sprintf("TagSpecification.1.Tag.%d.%s", i, part))
		}
	}
	s, err := c.create(ctx, q)
	return created{NIC: c.said(s)}, err
}

func (c *Cloud) ec2Attach(_ context.Context, v url.Values) (any, error) {
	if v.Get("DeviceIndex") == "" || v.Get("NetworkCardIndex") != "0" {
		return nil, fail("MissingParameter")
	}
	s, err := c.attach(query{"NetworkInterfaceId": v.Get("NetworkInterfaceId"), "InstanceId": v.Get("InstanceId"), "DeviceIndex": v.Get("DeviceIndex")})
	if s.Status != "Creating" {
		err = busy(err, "InvalidNetworkInterface.InUse")
	}
	return attached{Attachment: attachment(s)}, err
}

// attachment is the name of a NIC's attachment.
func attachment(s state) string { return "eni-attach-" + s.ID }

// attachedAs finds the NIC that an attachment is of.
func (c *Cloud) attachedAs(name string) (state, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.nics[strings.TrimPrefix(name, "eni-attach-")]
	if h == nil || h.now().Status == "" || h.now().Instance == "" {
		return state{}, fail("InvalidAttachmentID.NotFound")
	}
	return h.now(), nil
}

func (c *Cloud) ec2Modify(_ context.Context, v url.Values) (any, error) {
	s, err := c.attachedAs(v.Get("Attachment.AttachmentId"))
	if err != nil || s.ID != v.Get("NetworkInterfaceId") {
		return nil, fail("InvalidAttachmentID.NotFound")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s = c.nics[s.ID].now()
	s.Tied = v.Get("Attachment.DeleteOnTermination") == "true"
	c.putLocked(s)
	return returned{Return: true}, nil
}

func (c *Cloud) ec2Detach(_ context.Context, v url.Values) (any, error) {
	s, err := c.attachedAs(v.Get("AttachmentId"))
	if err != nil {
		return nil, err
	}
	return returned{Return: true}, c.detach(query{"NetworkInterfaceId": s.ID, "InstanceId": s.Instance})
}

func (c *Cloud) ec2Describe(_ context.Context, v url.Values) (any, error) {
	q, tags := query{"NextToken": v.Get("NextToken")}, 0
	for i := 1; v.Get(fmt.Sprintf("Filter.%d.Name", i)) != ""; i++ {
		value := v.Get(fmt.Sprintf("Filter.%d.Value.1", i))
		switch name := v.Get(fmt.Sprintf("Filter.%d.Name", i)); {
		case name == "network-interface-id":
			q["NetworkInterfaceId.1"] = value
		case name == "attachment.instance-id":
			q["InstanceId"] = value
		case strings.HasPrefix(name, "tag:"):
			tags++
			q[fmt.Sprintf("Tag.%d.Key", tags)], q[fmt.Sprintf("Tag.%d.Value", tags)] = strings.TrimPrefix(name, "tag:"), value
		default:
			return nil, fail("InvalidParameterValue")
		}
	}
	if c.current().Empty && q["NextToken"] == "" {
		return described{Next: "0"}, nil
	}
	found, next := c.list(q)
	answer := described{Next: next}
	for _, s := range found {
		if s.Status != "Deleting" { // there is no such word
			answer.NICs = append(answer.NICs, c.said(s))
		}
	}
	return answer, nil
}

func (c *Cloud) ec2Types(_ context.Context, v url.Values) (any, error) {
	if v.Get("InstanceType.1") != c.Type {
		return nil, fail("InvalidInstanceType")
	}
	return instanceTypes{Types: []instanceType{{Name: c.Type, Hypervisor: map[bool]string{true: "xen", false: "nitro"}[c.Xen], NICs: c.NICs + 4, IPv4s: c.IPv4s, IPv6s: c.IPv6s, Cards: []networkCard{{0, c.NICs}, {1, 4}}}}}, nil
}

func (c *Cloud) ec2Subnets(_ context.Context, v url.Values) (any, error) {
	id := v.Get("SubnetId.1")
	at, is := c.vSwitch(id)
	if !is {
		return nil, fail("InvalidVSwitchId.NotFound")
	}
	s := saidSubnet{ID: id, V4: at.V4.String()}
	if at.V6.IsValid() {
		s.V6 = []saidBlock{{Block: at.V6.String(), State: "associated"}}
	}
	return subnets{Subnets: []saidSubnet{s}}, nil
}

// Calls that change addresses have no client token: each is another one.

func (c *Cloud) ec2AssignFours(ctx context.Context, v url.Values) (any, error) {
	given, err := c.assignFours(ctx, query{"NetworkInterfaceId": v.Get("NetworkInterfaceId"), "SecondaryPrivateIpAddressCount": v.Get("SecondaryPrivateIpAddressCount"),
		"Ipv4PrefixCount": v.Get("Ipv4PrefixCount"), "ClientToken": rand.Text()})
	answer := assignedFours{NIC: v.Get("NetworkInterfaceId")}
	for _, a := range given {
		if v.Get("Ipv4PrefixCount") != "" {
			answer.Blocks = append(answer.Blocks, saidFourBlock{a})
		} else {
			answer.Addresses = append(answer.Addresses, saidFour{Address: a})
		}
	}
	return answer, err
}

func (c *Cloud) ec2AssignSixes(ctx context.Context, v url.Values) (any, error) {
	q := query{"NetworkInterfaceId": v.Get("NetworkInterfaceId"), "Ipv6PrefixCount": v.Get("Ipv6PrefixCount"), "ClientToken": rand.Text()}
	listed(q, v, "Ipv6Addresses", "", "Ipv6Address")
	given, err := c.assignSixes(ctx, q)
	if q["Ipv6PrefixCount"] != "" {
		return assignedSixes{NIC: v.Get("NetworkInterfaceId"), Blocks: given}, err
	}
	return assignedSixes{NIC: v.Get("NetworkInterfaceId"), Addresses: given}, err
}

func unassigning(name, as, block string, do func(*Cloud, context.Context, query) error) func(*Cloud, context.Context, url.Values) (any, error) {
	return func(c *Cloud, ctx context.Context, v url.Values) (any, error) {
		q := query{"NetworkInterfaceId": v.Get("NetworkInterfaceId")}
		listed(q, v, name, "", as)
		listed(q, v, block, "", block)
		return returned{Return: true}, do(c, ctx, q)
	}
}
