package aws

import (
	"context"
	"crypto/x509"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/heddle-network/heddle/nic/eni"
)

// api calls actions of the cloud.
type api struct {
	client *ec2.Client
	calls  *eni.Calls
}

const (
	changing   eni.Budget = "change"
	describing eni.Budget = "describe"
)

// budgets are the calls that one machine makes at most. The cloud counts by account, region and action, and refuses what is too much.
var budgets = map[eni.Budget]eni.Rate{changing: {PerMinute: 60, AtOnce: 30}, describing: {PerMinute: 120, AtOnce: 60}}

// Actions that change addresses have no client token: done again after a lost answer, they would be done twice.
var (
	createNIC       = eni.Action{Name: "CreateNetworkInterface", Budget: changing}
	attachNIC       = eni.Action{Name: "AttachNetworkInterface", Budget: changing}
	tieNIC          = eni.Action{Name: "ModifyNetworkInterfaceAttribute", Budget: changing}
	detachNIC       = eni.Action{Name: "DetachNetworkInterface", Budget: changing}
	deleteNIC       = eni.Action{Name: "DeleteNetworkInterface", Budget: changing}
	assignFours     = eni.Action{Name: "AssignPrivateIpAddresses", Patient: true, Single: true, Budget: changing}
	assignSixes     = eni.Action{Name: "AssignIpv6Addresses", Patient: true, Single: true, Budget: changing}
	unassignFours   = eni.Action{Name: "UnassignPrivateIpAddresses", Patient: true, Single: true, Budget: changing}
	unassignSixes   = eni.Action{Name: "UnassignIpv6Addresses", Patient: true, Single: true, Budget: changing}
	describeNICs    = eni.Action{Name: "DescribeNetworkInterfaces", Budget: describing}
	describeTypes   = eni.Action{Name: "DescribeInstanceTypes", Budget: describing}
	describeSubnets = eni.Action{Name: "DescribeSubnets", Budget: describing}
)

// newAPI returns the API of a region. authorities vouch for it; nil are the system's. The library does not try again: the budgets would not
// know of it.
func newAPI(c Config, authorities *x509.CertPool, region string, credentials aws.CredentialsProvider) *api {
	o := ec2.Options{Region: region, Credentials: credentials, Retryer: aws.NopRetryer{}, HTTPClient: eni.NewClient(authorities)}
	if c.EC2 != "" {
		o.BaseEndpoint = aws.String("https://" + c.EC2)
	}
	return &api{ec2.New(o), eni.NewCalls(budgets, failure, remedies, func(ctx context.Context) error {
		if _, err := credentials.Retrieve(ctx); err != nil {
			return noCredentials(err)
		}
		return nil
	})}
}

// call calls an action by its method of the library. object is what it is about, for errors.
func call[In, Out any](ctx context.Context, a *api, act eni.Action, object string, do func(context.Context, *In, ...func(*ec2.Options)) (*Out, error), in *In) (out *Out, err error) {
	err = a.calls.Do(ctx, act, object, func(ctx context.Context) (err error) {
		out, err = do(ctx, in)
		return err
	})
	return out, err
}
