package aws

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
)

const (
	// tagMade is when a NIC was ordered: the API does not tell.
	tagMade = "heddle-made"
	// madeForm has as many digits for each time, so that the later one of two texts is greater.
	madeForm = "2006-01-02T15:04:05.000000000Z"
	// maxPages is how many pages a list has at most.
	maxPages = 200
)

// stateOf says what the API's words mean, of a NIC and of its attachment. As long as the attachment has no ID, or a word is not known, the cloud is busy with the NIC:
// it may be attached although nothing is said of an attachment.
func stateOf(x types.NetworkInterface) eni.State {
	a := x.Attachment
	switch {
	case x.Status == types.NetworkInterfaceStatusAvailable:
		return eni.Free
	case a == nil || aws.ToString(a.AttachmentId) == "" || aws.ToString(a.InstanceId) == "":
		return eni.Busy
	case a.Status == types.AttachmentStatusAttaching:
		return eni.Attaching
	case a.Status == types.AttachmentStatusAttached && x.Status == types.NetworkInterfaceStatusInUse:
		return eni.Attached
	case a.Status == types.AttachmentStatusDetaching:
		return eni.Detaching
	}
	return eni.Busy
}

// nicOf is what the API says of a NIC, in words that all clouds have.
func nicOf(x types.NetworkInterface) eni.NIC {
	n := eni.NIC{ID: aws.ToString(x.NetworkInterfaceId), State: stateOf(x), Word: string(x.Status), Subnet: aws.ToString(x.SubnetId), Tags: map[string]string{}}
	n.MAC, _ = heddle.ParseMAC(aws.ToString(x.MacAddress))
	if a := x.Attachment; a != nil {
		n.Instance, n.Attachment, n.Loose = aws.ToString(a.InstanceId), aws.ToString(a.AttachmentId), !aws.ToBool(a.DeleteOnTermination)
		n.Word += ", " + string(a.Status)
		n.Apart = onOtherCard(x)
	}
	for _, t := range x.TagSet {
		n.Tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	n.Made = n.Tags[tagMade]
	n.First, _ = netip.ParseAddr(aws.ToString(x.PrivateIpAddress))
	for _, p := range x.PrivateIpAddresses {
		if a, err := netip.ParseAddr(aws.ToString(p.PrivateIpAddress)); err == nil && !aws.ToBool(p.Primary) && a != n.First {
			n.Fours = append(n.Fours, a)
		}
	}
	for _, s := range x.Ipv6Addresses {
		if a, err := netip.ParseAddr(aws.ToString(s.Ipv6Address)); err == nil {
			n.Sixes = append(n.Sixes, a)
		}
	}
	var blocks []string
	for _, b := range x.Ipv4Prefixes {
		blocks = append(blocks, aws.ToString(b.Ipv4Prefix))
	}
	for _, b := range x.Ipv6Prefixes {
		blocks = append(blocks, aws.ToString(b.Ipv6Prefix))
	}
	n.Blocks = eni.Blocks(blocks)
	return n
}

// onOtherCard reports whether a NIC is on another network card than the first one. Each card has device indexes and a limit of its own, and those of others are not used.
func onOtherCard(x types.NetworkInterface) bool {
	return x.Attachment != nil && aws.ToInt32(x.Attachment.NetworkCardIndex) != 0
}

// filters are a filter as the API takes it. NetworkInterfaceIds would exclude answers in pages.
func filters(f eni.Filter) (all []types.Filter) {
	for _, x := range [][2]string{{"network-interface-id", f.ID}, {"attachment.instance-id", f.Instance}, {"tag:" + eni.TagMachine, f.Machine}, {"tag:" + eni.TagToken, f.Token}} {
		if x[1] != "" {
			all = append(all, types.Filter{Name: &x[0], Values: []string{x[1]}})
		}
	}
	return all
}

// Find implements eni.Cloud.
func (c *cloud) Find(ctx context.Context, object string, f eni.Filter) (all []eni.NIC, err error) {
	described, err := c.describe(ctx, object, f)
	for _, x := range described {
		all = append(all, nicOf(x))
	}
	return all, err
}

// describe asks for all pages. One without NICs need not be the last one: a list ends when there is no token for more (EC2 Developer Guide, "Pagination").
func (c *cloud) describe(ctx context.Context, object string, f eni.Filter) (all []types.NetworkInterface, err error) {
	in := &ec2.DescribeNetworkInterfacesInput{Filters: filters(f), MaxResults: aws.Int32(100)}
	for pages := 0; pages < maxPages && len(all) <= eni.MaxListed; pages++ {
		page, err := call(ctx, c.api, c.api.describeNICs, object, in)
		if err != nil {
			return nil, err
		}
		all = append(all, page.NetworkInterfaces...)
		if next := aws.ToString(page.NextToken); next == "" || next == aws.ToString(in.NextToken) {
			return all, nil
		}
		in.NextToken = page.NextToken
	}
	return nil, heddle.Errorf(heddle.NICServiceDown, c.api.describeNICs.Name, object, fmt.Sprintf("it lists more than %d NICs, or %d pages", eni.MaxListed, maxPages), "try again")
}
