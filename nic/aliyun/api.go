package aliyun

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	openapimodels "github.com/alibabacloud-go/darabonba-openapi/v2/models"
	openapiutil "github.com/alibabacloud-go/darabonba-openapi/v2/utils"
	"github.com/alibabacloud-go/tea/dara"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
)

// api calls actions of the cloud.
type api struct {
	ecs, vpc *openapi.Client
	region   string
	calls    *eni.Calls
}

// newAPI returns the API of a region. authorities vouch for it; nil are the system's.
func newAPI(c Config, authorities *x509.CertPool, region string, r *role) (a *api, err error) {
	a = &api{region: region, calls: eni.NewCalls(budgets, failure, remedies, r.refresh)}
	by := transport{eni.NewClient(authorities)}
	client := func(product, host string) (*openapi.Client, error) {
		if host == "" {
			host = fmt.Sprintf("%s.%s.aliyuncs.com", product, region)
		}
		made, err := openapi.NewClient(&openapimodels.Config{Credential: r, Endpoint: &host, RegionId: &region, Protocol: dara.String("https"), HttpClient: by})
		if err != nil {
			return nil, heddle.Wrap(heddle.NICServiceDown, "call API of", host, err, "correct the file of --nic-cloud")
		}
		made.DisableSDKError = dara.Bool(true) // its errors have types then
		return made, nil
	}
	if a.ecs, err = client("ecs", c.ECS); err == nil {
		a.vpc, err = client("vpc", c.VPC)
	}
	return a, err
}

// transport is what the library's requests go by.
type transport struct{ client *eni.Client }

// Call implements dara.HttpClient. The library's own transport is not used.
func (t transport) Call(r *http.Request, _ *http.Transport) (*http.Response, error) {
	return t.client.Do(r)
}

var (
	createNIC     = eni.Action{Name: "CreateNetworkInterface", Patient: true, Budget: making}
	attachNIC     = eni.Action{Name: "AttachNetworkInterface", Budget: making}
	deleteNIC     = eni.Action{Name: "DeleteNetworkInterface", Budget: making}
	detachNIC     = eni.Action{Name: "DetachNetworkInterface", Budget: detaching}
	assignFours   = eni.Action{Name: "AssignPrivateIpAddresses", Patient: true, Budget: detaching}
	assignSixes   = eni.Action{Name: "AssignIpv6Addresses", Patient: true, Budget: detaching}
	unassignFours = eni.Action{Name: "UnassignPrivateIpAddresses", Patient: true, Budget: detaching}
	unassignSixes = eni.Action{Name: "UnassignIpv6Addresses", Patient: true, Budget: detaching}
	describeNICs  = eni.Action{Name: "DescribeNetworkInterfaces", Budget: describing}
	describeTypes = eni.Action{Name: "DescribeInstanceTypes", Budget: describing}
	describeVSw   = eni.Action{Name: "DescribeVSwitches", Budget: switches}
)

// call calls an action. object is what it is about, for errors. A parameter that is a list becomes Name.1, Name.2 and so on.
func (a *api) call(ctx context.Context, act eni.Action, object string, params map[string]any, into any) error {
	params["RegionId"] = a.region
	return a.calls.Do(ctx, act, object, func(ctx context.Context) error { return a.once(ctx, act.Name, params, into) })
}

func (a *api) once(ctx context.Context, name string, params map[string]any, into any) error {
	client, version := a.ecs, "2014-05-26"
	if name == describeVSw.Name {
		client, version = a.vpc, "2016-04-28"
	}
	answer, err := client.CallApiWithCtx(ctx, &openapimodels.Params{Action: &name, Version: &version, Protocol: dara.String("HTTPS"), Pathname: dara.String("/"),
		Method: dara.String("POST"), AuthType: dara.String("AK"), Style: dara.String("RPC"), ReqBodyType: dara.String("formData"), BodyType: dara.String("json")},
		&openapimodels.OpenApiRequest{Query: openapiutil.Query(params)}, &dara.RuntimeOptions{})
	if err != nil {
		return err
	}
	text, err := json.Marshal(answer["body"])
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return err
}
