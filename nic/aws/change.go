package aws

import (
	"context"
	"crypto/rand"
	"net/netip"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
)

// Create implements eni.Cloud.
func (c *cloud) Create(ctx context.Context, o eni.Order) (eni.NIC, error) {
	where := c.config.Networks[o.Network]
	var tags []types.Tag
	for _, t := range append(o.Tags, eni.Tag{Key: tagMade, Value: time.Now().UTC().Format(madeForm)}, eni.Tag{Key: "Name", Value: "heddle-" + o.Token}) {
		tags = append(tags, types.Tag{Key: &t.Key, Value: &t.Value})
	}
	in := &ec2.CreateNetworkInterfaceInput{SubnetId: &where.Subnet, Groups: where.SecurityGroups, Description: aws.String("a container's NIC of " + c.me.id + "; see heddle(1)"),
		ClientToken:       aws.String(rand.Text()), // the same call, tried again, makes one NIC only
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeNetworkInterface, Tags: tags}},
		Ipv6AddressCount:  aws.Int32(0)} // a subnet may give addresses by itself
	if o.Six {
		in.Ipv6AddressCount = aws.Int32(1)
	}
	for _, a := range o.IPs {
		if a.Is4() {
			in.PrivateIpAddress = aws.String(a.String())
			continue
		}
		in.Ipv6AddressCount, in.Ipv6Addresses = nil, []types.InstanceIpv6Address{{Ipv6Address: aws.String(a.String())}}
	}
	out, err := call(ctx, c.api, c.api.createNIC, o.Token+" on "+where.Subnet, in)
	if err != nil || out.NetworkInterface == nil {
		return eni.NIC{}, err
	}
	return nicOf(*out.NetworkInterface), nil
}

// Change implements eni.Cloud.
func (c *cloud) Change(ctx context.Context, s eni.Step, n eni.NIC) (err error) {
	switch s {
	case eni.Attach:
		err = c.attach(ctx, n)
	case eni.Tie:
		_, err = call(ctx, c.api, c.api.tieNIC, n.ID, &ec2.ModifyNetworkInterfaceAttributeInput{NetworkInterfaceId: &n.ID,
			Attachment: &types.NetworkInterfaceAttachmentChanges{AttachmentId: &n.Attachment, DeleteOnTermination: aws.Bool(true)}})
	case eni.Detach:
		_, err = call(ctx, c.api, c.api.detachNIC, n.ID, &ec2.DetachNetworkInterfaceInput{AttachmentId: &n.Attachment})
	case eni.Delete:
		_, err = call(ctx, c.api, c.api.deleteNIC, n.ID, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &n.ID})
	}
	return err
}

// AssignFours implements eni.Cloud.
func (c *cloud) AssignFours(ctx context.Context, id string, count int) (given []string, err error) {
	out, err := call(ctx, c.api, c.api.assignFours, id, &ec2.AssignPrivateIpAddressesInput{NetworkInterfaceId: &id, SecondaryPrivateIpAddressCount: aws.Int32(int32(count))})
	if err != nil {
		return nil, err
	}
	for _, x := range out.AssignedPrivateIpAddresses {
		given = append(given, aws.ToString(x.PrivateIpAddress))
	}
	return given, nil
}

// AssignSixes implements eni.Cloud.
func (c *cloud) AssignSixes(ctx context.Context, id string, all []netip.Addr) (given []string, err error) {
	in := &ec2.AssignIpv6AddressesInput{NetworkInterfaceId: &id}
	for _, a := range all {
		in.Ipv6Addresses = append(in.Ipv6Addresses, a.String())
	}
	out, err := call(ctx, c.api, c.api.assignSixes, id, in)
	if err != nil {
		return nil, err
	}
	return out.AssignedIpv6Addresses, nil
}

// AssignBlocks implements eni.Cloud.
func (c *cloud) AssignBlocks(ctx context.Context, id string, count int) (given []string, err error) {
	out, err := call(ctx, c.api, c.api.assignFours, id, &ec2.AssignPrivateIpAddressesInput{NetworkInterfaceId: &id, Ipv4PrefixCount: aws.Int32(int32(count))})
	if noneFree(err) {
		return nil, heddle.Errorf(heddle.PoolExhausted, c.api.assignFours.Name, id, "the subnet has too few free addresses", "reserve a part of the subnet for prefixes, or name another subnet in the file of --nic-cloud")
	}
	if err != nil {
		return nil, err
	}
	for _, x := range out.AssignedIpv4Prefixes {
		given = append(given, aws.ToString(x.Ipv4Prefix))
	}
	return given, nil
}

// AssignSixBlock implements eni.Cloud.
func (c *cloud) AssignSixBlock(ctx context.Context, id string) (given []string, err error) {
	out, err := call(ctx, c.api, c.api.assignSixes, id, &ec2.AssignIpv6AddressesInput{NetworkInterfaceId: &id, Ipv6PrefixCount: aws.Int32(1)})
	if err != nil {
		return nil, err
	}
	return out.AssignedIpv6Prefixes, nil
}

// Unassign implements eni.Cloud.
func (c *cloud) Unassign(ctx context.Context, id string, x netip.Prefix) (err error) {
	four, six := &ec2.UnassignPrivateIpAddressesInput{NetworkInterfaceId: &id}, &ec2.UnassignIpv6AddressesInput{NetworkInterfaceId: &id}
	switch is6, one := x.Addr().Is6(), x.IsSingleIP(); {
	case is6 && one:
		six.Ipv6Addresses = []string{x.Addr().String()}
	case is6:
		six.Ipv6Prefixes = []string{x.String()}
	case one:
		four.PrivateIpAddresses = []string{x.Addr().String()}
	default:
		four.Ipv4Prefixes = []string{x.String()}
	}
	if x.Addr().Is6() {
		_, err = call(ctx, c.api, c.api.unassignSixes, id, six)
	} else {
		_, err = call(ctx, c.api, c.api.unassignFours, id, four)
	}
	if notAssigned(err) {
		return nil
	}
	return err
}
