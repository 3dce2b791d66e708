package aliyun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
)

// metadataURL is the service of the cloud that tells an instance what it is. Each instance reaches it at this address
// (Alibaba Cloud, "View instance metadata").
const metadataURL = "http://100.100.100.200/latest/"

// closed is what containers must not reach: the service would give them the credentials of the instance's RAM role. It has an IPv6 address,
// too (canonical/cloud-init, pull request 6893).
var closed = []netip.Prefix{netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("fd00:100::100:200/128")}

// sessionSeconds is how long a token of the metadata service is good; the longest that it gives.
const sessionSeconds = "21600"

// metadata asks the metadata service, in its form with tokens, which a request that a program was tricked into cannot get.
type metadata struct {
	http *eni.Client

	mu    sync.Mutex
	token string
}

func newMetadata() *metadata {
	return &metadata{http: eni.NewMetadataClient()}
}

// errNoMetadata says that the service has no such item.
var errNoMetadata = errors.New("the metadata service has no such item")

// get returns an item of the instance, such as "instance-id".
func (m *metadata) get(ctx context.Context, item string) (string, error) {
	text, status, err := m.ask(ctx, item)
	if err == nil && status == http.StatusUnauthorized { // the token is too old
		m.mu.Lock()
		m.token = ""
		m.mu.Unlock()
		text, status, err = m.ask(ctx, item)
	}
	switch {
	case err != nil:
	case status == http.StatusNotFound:
		err = errNoMetadata
	case status != http.StatusOK:
		err = fmt.Errorf("it answered with status %d", status)
	default:
		return strings.TrimSpace(text), nil
	}
	return "", heddle.Wrap(heddle.NICServiceDown, "ask metadata service", item, err, "look whether this is an ECS instance, and reaches 100.100.100.200")
}

// ask is get with the token that is there, or a new one.
func (m *metadata) ask(ctx context.Context, item string) (text string, status int, err error) {
	m.mu.Lock()
	token := m.token
	m.mu.Unlock()
	if token == "" {
		token, status, err = m.do(ctx, http.MethodPut, "api/token", "X-aliyun-ecs-metadata-token-ttl-seconds", sessionSeconds)
		if err != nil || status != http.StatusOK {
			return "", status, err
		}
		m.mu.Lock()
		m.token = token
		m.mu.Unlock()
	}
	return m.do(ctx, http.MethodGet, "meta-data/"+item, "X-aliyun-ecs-metadata-token", token)
}

func (m *metadata) do(ctx context.Context, method, path, header, value string) (text string, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, method, metadataURL+path, nil)
	if err != nil {
		return "", 0, err
	}
	r.Header.Set(header, value)
	answer, err := m.http.Do(r)
	if err != nil {
		return "", 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), answer.StatusCode, err
}

// instance is what this machine is in the cloud.
type instance struct{ id, kind, region string }

// instance asks what this machine is.
func (m *metadata) instance(ctx context.Context) (i instance, err error) {
	for _, x := range []struct {
		item string
		into *string
	}{{"instance-id", &i.id}, {"instance/instance-type", &i.kind}, {"region-id", &i.region}} {
		if *x.into, err = m.get(ctx, x.item); err != nil {
			return i, err
		}
	}
	return i, nil
}
