package aliyun

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	openapimodels "github.com/alibabacloud-go/darabonba-openapi/v2/models"
	openapiutil "github.com/alibabacloud-go/darabonba-openapi/v2/utils"
	"github.com/alibabacloud-go/tea/dara"
	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"

	"github.com/heddle-network/heddle"
)

// api calls actions of the cloud. It keeps within budgets, and asks again what was refused only for now.
type api struct {
	ecs, vpc *openapi.Client
	role     *role
	region   string
	budgets  map[budget]*rate.Limiter
}

const (
	// callTime limits one request.
	callTime = 10 * time.Second
	// awayTime is how long a call is tried again while the API is away.
	awayTime = 5 * time.Second
	// firstPause and longestPause are between attempts, and between looks at a NIC that changes.
	firstPause, longestPause = 200 * time.Millisecond, 2 * time.Second
	// maxAnswer bounds an answer in bytes.
	maxAnswer = 16 << 20
)

// newAPI returns the API of a region. authorities vouch for it; nil are the system's.
func newAPI(c Config, authorities *x509.CertPool, region string, r *role) (a *api, err error) {
	a = &api{region: region, role: r, budgets: newBudgets()}
	by := &transport{http.Client{Timeout: callTime, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	client := func(product, host string) (*openapi.Client, error) {
		if host == "" {
			host = fmt.Sprintf("%s.%s.aliyuncs.com", product, region)
		}
		made, err := openapi.NewClient(&openapimodels.Config{Credential: r, Endpoint: &host, RegionId: &region, Protocol: dara.String("https"), HttpClient: by})
		if err != nil {
			return nil, refused("call API of", host, err)
		}
		made.DisableSDKError = dara.Bool(true) // its errors have types then
		return made, nil
	}
	if a.ecs, err = client("ecs", c.ECS); err == nil {
		a.vpc, err = client("vpc", c.VPC)
	}
	return a, err
}

// transport is what the library's requests go by. An answer that is longer than any that is wanted is cut off.
type transport struct{ client http.Client }

// Call implements dara.HttpClient. The library's own transport is not used.
func (t *transport) Call(r *http.Request, _ *http.Transport) (*http.Response, error) {
	answer, err := t.client.Do(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// action is a call of the API. One that is patient is called again for a while if the NIC is just changing.
type action struct {
	name    string
	vpc     bool
	patient bool
	budget  budget
}

var (
	createNIC     = action{name: "CreateNetworkInterface", patient: true, budget: making}
	attachNIC     = action{name: "AttachNetworkInterface", budget: making}
	deleteNIC     = action{name: "DeleteNetworkInterface", budget: making}
	detachNIC     = action{name: "DetachNetworkInterface", budget: detaching}
	assignFours   = action{name: "AssignPrivateIpAddresses", patient: true, budget: detaching}
	assignSixes   = action{name: "AssignIpv6Addresses", patient: true, budget: detaching}
	unassignFours = action{name: "UnassignPrivateIpAddresses", patient: true, budget: detaching}
	unassignSixes = action{name: "UnassignIpv6Addresses", patient: true, budget: detaching}
	describeNICs  = action{name: "DescribeNetworkInterfaces", budget: describing}
	describeTypes = action{name: "DescribeInstanceTypes", budget: describing}
	describeVSw   = action{name: "DescribeVSwitches", vpc: true, budget: switches}
)

// call calls an action. object is what it is about, for errors. A parameter that is a list becomes Name.1, Name.2 and so on.
// While the API says that it is asked too often, it is asked again until the context ends.
func (a *api) call(ctx context.Context, act action, object string, params map[string]any, into any) error {
	params["RegionId"] = a.region
	pause, began := pauses(), time.Now()
	for {
		if err := a.budgets[act.budget].Wait(ctx); err != nil {
			return heddle.Wrap(heddle.Waited, act.name, object, err, "try again: this machine has called the API very often")
		}
		if err := a.role.refresh(ctx); err != nil {
			return err
		}
		err := a.once(ctx, act, params, into)
		if err == nil {
			return nil
		}
		again := throttled(err) || (away(err) || act.patient && changing(err)) && time.Since(began) < awayTime
		if !again || !wait(ctx, pause.NextBackOff()) {
			return refused(act.name, object, err)
		}
	}
}

func (a *api) once(ctx context.Context, act action, params map[string]any, into any) error {
	client, version := a.ecs, "2014-05-26"
	if act.vpc {
		client, version = a.vpc, "2016-04-28"
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	answer, err := client.CallApiWithCtx(ctx, &openapimodels.Params{Action: &act.name, Version: &version, Protocol: dara.String("HTTPS"), Pathname: dara.String("/"),
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

// pauses are those between attempts. They grow, and differ between machines.
func pauses() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = firstPause, longestPause
	return b
}

// wait waits, and reports whether the context goes on.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
