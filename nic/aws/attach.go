package aws

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/heddle-network/heddle/nic/eni"
)

// attach has a NIC attached at a device index that is free. One that proves to be taken is not tried again.
func (c *cloud) attach(ctx context.Context, n eni.NIC) error {
	tried := map[int32]bool{}
	for {
		has, err := c.describe(ctx, c.me.id, eni.Filter{Instance: c.me.id})
		if err != nil {
			return err
		}
		has = slices.DeleteFunc(has, func(x types.NetworkInterface) bool {
			return x.Attachment == nil || aws.ToString(x.Attachment.InstanceId) != c.me.id
		})
		if err = c.attachAt(ctx, n, has, tried); !indexTaken(err) || len(tried) > len(has)+maxTried {
			return err
		}
	}
}

// maxTried is how many device indexes are tried, besides those of NICs that are described.
const maxTried = 16

func (c *cloud) attachAt(ctx context.Context, n eni.NIC, has []types.NetworkInterface, tried map[int32]bool) error {
	index, end := c.take(has, tried)
	defer end()
	tried[index] = true
	_, err := call(ctx, c.api, c.api.attachNIC, n.ID, &ec2.AttachNetworkInterfaceInput{InstanceId: &c.me.id, NetworkInterfaceId: &n.ID,
		DeviceIndex: &index, NetworkCardIndex: aws.Int32(0)}) // without the last, all network cards count (cilium/cilium, pull request 42512)
	return err
}

// take takes the lowest free device index until end is called.
func (c *cloud) take(has []types.NetworkInterface, tried map[int32]bool) (index int32, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	index = freeIndex(has, tried, c.taking)
	c.taking[index] = true
	return index, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.taking, index)
	}
}

// freeIndex is the lowest device index of the first network card that no NIC has, and that is in none of the sets. That of the primary NIC is 0.
func freeIndex(has []types.NetworkInterface, sets ...map[int32]bool) int32 {
	taken := map[int32]bool{0: true}
	for _, x := range has {
		if x.Attachment != nil && !onOtherCard(x) {
			taken[aws.ToInt32(x.Attachment.DeviceIndex)] = true
		}
	}
	for _, set := range sets {
		for i, is := range set {
			taken[i] = taken[i] || is
		}
	}
	for i := int32(1); ; i++ {
		if !taken[i] {
			return i
		}
	}
}
