package aws

import (
	"context"
	"crypto/x509"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/heddle-network/heddle/nic/eni"
)

// api has the actions of the cloud that are called. It has no *ec2.Client: that would be reached from a value of an interface, and then the linker keeps each of its
// 800 methods, which are 40 MB.
type api struct {
	calls *eni.Calls

	createNIC       action[ec2.CreateNetworkInterfaceInput, ec2.CreateNetworkInterfaceOutput]
	attachNIC       action[ec2.AttachNetworkInterfaceInput, ec2.AttachNetworkInterfaceOutput]
	tieNIC          action[ec2.ModifyNetworkInterfaceAttributeInput, ec2.ModifyNetworkInterfaceAttributeOutput]
	detachNIC       action[ec2.DetachNetworkInterfaceInput, ec2.DetachNetworkInterfaceOutput]
	deleteNIC       action[ec2.DeleteNetworkInterfaceInput, ec2.DeleteNetworkInterfaceOutput]
	assignFours     action[ec2.AssignPrivateIpAddressesInput, ec2.AssignPrivateIpAddressesOutput]
	assignSixes     action[ec2.AssignIpv6AddressesInput, ec2.AssignIpv6AddressesOutput]
	unassignFours   action[ec2.UnassignPrivateIpAddressesInput, ec2.UnassignPrivateIpAddressesOutput]
	unassignSixes   action[ec2.UnassignIpv6AddressesInput, ec2.UnassignIpv6AddressesOutput]
	describeNICs    action[ec2.DescribeNetworkInterfacesInput, ec2.DescribeNetworkInterfacesOutput]
	describeTypes   action[ec2.DescribeInstanceTypesInput, ec2.DescribeInstanceTypesOutput]
	describeSubnets action[ec2.DescribeSubnetsInput, ec2.DescribeSubnetsOutput]
}

// action is a call of the API, and the library's method for it.
type action[In, Out any] struct {
	eni.Action
	do method[In, Out]
}

type method[In, Out any] func(context.Context, *In, ...func(*ec2.Options)) (*Out, error)

const (
	changing   eni.Budget = "change"
	describing eni.Budget = "describe"
)

// budgets are the calls that one machine makes at most. The cloud counts by account, region and action, and refuses what is too much: of a describing one more than 100
// at once, and then 20 a second (EC2 Developer Guide, "Request throttling").
var budgets = map[eni.Budget]eni.Rate{changing: {PerMinute: 100, AtOnce: 30}, describing: {PerMinute: 400, AtOnce: 50}}

// single has an action not be called again after a lost answer. Those that change addresses have no client token: they would be done twice.
const single = true

func changes[In, Out any](name string, single bool, do method[In, Out]) action[In, Out] {
	return action[In, Out]{eni.Action{Name: name, Patient: single, Single: single, Budget: changing}, do}
}

func describes[In, Out any](name string, do method[In, Out]) action[In, Out] {
	return action[In, Out]{eni.Action{Name: name, Budget: describing}, do}
}

// newAPI returns the API of a region. authorities vouch for it; nil are the system's. The library does not try again: the budgets would not
// know of it.
func newAPI(c Config, authorities *x509.CertPool, region string, credentials aws.CredentialsProvider) *api {
	o := ec2.Options{Region: region, Credentials: credentials, Retryer: aws.NopRetryer{}, HTTPClient: eni.NewClient(authorities)}
	if c.EC2 != "" {
		o.BaseEndpoint = aws.String("https://" + c.EC2)
	}
	client := ec2.New(o)
	return &api{
		calls: eni.NewCalls(budgets, failure, remedies, func(ctx context.Context) error {
			c, err := credentials.Retrieve(ctx)
			if err == nil && !c.HasKeys() {
				err = errNoKeys
			}
			if err != nil {
				return noCredentials(err)
			}
			return nil
		}),
		createNIC:       changes("CreateNetworkInterface", !single, client.CreateNetworkInterface),
		attachNIC:       changes("AttachNetworkInterface", !single, client.AttachNetworkInterface),
		tieNIC:          changes("ModifyNetworkInterfaceAttribute", !single, client.ModifyNetworkInterfaceAttribute),
		detachNIC:       changes("DetachNetworkInterface", !single, client.DetachNetworkInterface),
		deleteNIC:       changes("DeleteNetworkInterface", !single, client.DeleteNetworkInterface),
		assignFours:     changes("AssignPrivateIpAddresses", single, client.AssignPrivateIpAddresses),
		assignSixes:     changes("AssignIpv6Addresses", single, client.AssignIpv6Addresses),
		unassignFours:   changes("UnassignPrivateIpAddresses", single, client.UnassignPrivateIpAddresses),
		unassignSixes:   changes("UnassignIpv6Addresses", single, client.UnassignIpv6Addresses),
		describeNICs:    describes("DescribeNetworkInterfaces", client.DescribeNetworkInterfaces),
		describeTypes:   describes("DescribeInstanceTypes", client.DescribeInstanceTypes),
		describeSubnets: describes("DescribeSubnets", client.DescribeSubnets),
	}
}

// call calls an action. object is what it is about, for errors.
func call[In, Out any](ctx context.Context, a *api, act action[In, Out], object string, in *In) (out *Out, err error) {
	err = a.calls.Do(ctx, act.Action, object, func(ctx context.Context) (err error) {
		out, err = act.do(ctx, in)
		return err
	})
	return out, err
}
