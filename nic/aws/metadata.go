package aws

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
)

// metadataURL is the service that tells an instance what it is (EC2 User Guide, "Configure the Instance Metadata Service options").
const metadataURL = "http://169.254.169.254"

// closed is what containers must not reach: the service would give them the credentials of the instance's role.
var closed = []netip.Prefix{netip.MustParsePrefix("169.254.169.254/32"), netip.MustParsePrefix("fd00:ec2::254/128")}

// renewBefore is how long before their end credentials are asked for again.
const renewBefore = 10 * time.Minute

// metadata asks the metadata service, with a session, which a request that a program was tricked into cannot get.
type metadata struct{ client *imds.Client }

func newMetadata() *metadata {
	return &metadata{imds.New(imds.Options{Endpoint: metadataURL, ClientEnableState: imds.ClientEnabled, EnableFallback: aws.FalseTernary, Retryer: retry.NewStandard(),
		HTTPClient: eni.NewMetadataClient()})}
}

// instance is what this machine is in the cloud.
type instance struct{ id, kind, region string }

// instance asks what this machine is.
func (m *metadata) instance(ctx context.Context) (instance, error) {
	said, err := m.client.GetInstanceIdentityDocument(ctx, &imds.GetInstanceIdentityDocumentInput{})
	if err != nil {
		return instance{}, heddle.Wrap(heddle.NICServiceDown, "ask metadata service", "instance-identity/document", err, "look whether this is an EC2 instance, and reaches 169.254.169.254")
	}
	i := instance{said.InstanceID, said.InstanceType, said.Region}
	if i.id == "" || i.kind == "" || i.region == "" {
		return i, heddle.Errorf(heddle.NICServiceDown, "ask metadata service", "instance-identity/document", "it lacks the instance's ID, type or region", "try again")
	}
	return i, nil
}

// credentials are those of the instance's role, which are asked for anew before they end.
func (m *metadata) credentials() aws.CredentialsProvider {
	return aws.NewCredentialsCache(ec2rolecreds.New(func(o *ec2rolecreds.Options) { o.Client = m.client }),
		func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = renewBefore })
}

// errNoKeys is of an answer that has no credentials.
var errNoKeys = errors.New("the answer has no keys")

// noCredentials is an error of the metadata service that was asked for credentials.
func noCredentials(err error) error {
	const op, object = "ask metadata service", "credentials of the instance's role"
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusNotFound {
		return heddle.Errorf(heddle.NICNotGranted, op, object, "the instance has no role", "give it a role; docs/guides/cloud-nics.md lists the rights")
	}
	return heddle.Wrap(heddle.NICServiceDown, op, object, err, "look whether this is an EC2 instance, and reaches 169.254.169.254")
}
