package aws

import (
	"context"
	"fmt"
	"net/netip"

	"go4.org/netipx"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
)

// router6 is the IPv6 router of each subnet (aws/amazon-vpc-cni-k8s, pull request 2700). It is in none.
var router6 = netip.MustParseAddr("fe80:ec2::1")

// reserved is how many IPv4 addresses of a subnet are the cloud's, from the first one on, besides the last one. The first after the subnet's own is the router's
// (VPC User Guide, "Subnet CIDR blocks").
const reserved = 4

// subnet is a subnet with these prefixes, which may be the zero value.
func subnet(v4, v6 netip.Prefix) eni.Subnet {
	s := eni.Subnet{V4: v4, V6: v6}
	if v4.IsValid() {
		s.Gateway4, s.First, s.Last = v4.Masked().Addr().Next(), v4.Masked().Addr(), netipx.PrefixLastIP(v4).Prev()
		for range reserved {
			s.First = s.First.Next()
		}
	}
	if v6.IsValid() {
		s.Gateway6 = router6
	}
	return s
}

// Subnet implements eni.Cloud.
func (c *cloud) Subnet(ctx context.Context, id string) (eni.Subnet, error) {
	out, err := call(ctx, c.api, c.api.describeSubnets, id, &ec2.DescribeSubnetsInput{SubnetIds: []string{id}})
	if err != nil {
		return eni.Subnet{}, err
	}
	if len(out.Subnets) != 1 || aws.ToString(out.Subnets[0].SubnetId) != id {
		return eni.Subnet{}, heddle.Errorf(heddle.BadArgument, c.api.describeSubnets.Name, id, "the region has no such subnet", "correct the file of --nic-cloud")
	}
	var v4, v6 netip.Prefix
	if text := aws.ToString(out.Subnets[0].CidrBlock); text != "" { // one of IPv6 alone has none
		v4, err = netip.ParsePrefix(text)
	}
	for _, x := range out.Subnets[0].Ipv6CidrBlockAssociationSet {
		if err == nil && x.Ipv6CidrBlockState != nil && x.Ipv6CidrBlockState.State == types.SubnetCidrBlockStateCodeAssociated {
			v6, err = netip.ParsePrefix(aws.ToString(x.Ipv6CidrBlock))
		}
	}
	if err != nil {
		return eni.Subnet{}, heddle.Wrap(heddle.NotPlugged, c.api.describeSubnets.Name, id, err, "look at the subnet in the cloud's console")
	}
	return subnet(v4, v6), nil
}

// Limits implements eni.Cloud. NICs are those of the first network card.
func (c *cloud) Limits(ctx context.Context) (eni.Limits, error) {
	out, err := call(ctx, c.api, c.api.describeTypes, c.me.kind, &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{types.InstanceType(c.me.kind)}})
	if err == nil && (len(out.InstanceTypes) != 1 || out.InstanceTypes[0].NetworkInfo == nil) {
		err = heddle.Errorf(heddle.NotPlugged, c.api.describeTypes.Name, c.me.kind, fmt.Sprintf("the API describes %d types of that name", len(out.InstanceTypes)), "try again")
	}
	if err != nil {
		return eni.Limits{}, err
	}
	said := out.InstanceTypes[0].NetworkInfo
	l := eni.Limits{NICs: int(aws.ToInt32(said.MaximumNetworkInterfaces)), Fours: int(aws.ToInt32(said.Ipv4AddressesPerInterface)), Sixes: int(aws.ToInt32(said.Ipv6AddressesPerInterface))}
	if hypervisor := out.InstanceTypes[0].Hypervisor; hypervisor == types.InstanceTypeHypervisorXen { // EC2 User Guide, "Prefix delegation"
		l.NoPrefixes = "instance type " + c.me.kind + " runs on hypervisor " + string(hypervisor) + ", whose NICs have no prefixes"
	}
	for _, card := range said.NetworkCards {
		if aws.ToInt32(card.NetworkCardIndex) == 0 && card.MaximumNetworkInterfaces != nil {
			l.NICs = int(*card.MaximumNetworkInterfaces)
		}
	}
	return l, nil
}
