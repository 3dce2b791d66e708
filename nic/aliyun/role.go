package aliyun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aliyun/credentials-go/credentials"

	"github.com/heddle-network/heddle"
)

// role has the credentials of the instance's RAM role, which the metadata service gives out, and gives out anew before they end. The cloud's
// own library would ask by a proxy, without a session, and without an end.
type role struct {
	credentials.Credential // what the cloud's client never asks
	meta                   *metadata
	// asking holds one value while somebody asks the service.
	asking chan struct{}

	mu    sync.Mutex
	now   credentials.CredentialModel
	until time.Time
}

// renewBefore is how long before their end credentials are asked for again. They are good for some hours, and new ones are there half an
// hour before.
const renewBefore = 10 * time.Minute

func newRole(m *metadata) *role { return &role{meta: m, asking: make(chan struct{}, 1)} }

// GetCredential implements credentials.Credential. refresh was called before.
func (r *role) GetCredential() (*credentials.CredentialModel, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.now
	return &c, nil
}

func (r *role) fresh() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.until)
}

// refresh asks for credentials, if those that are there end soon.
func (r *role) refresh(ctx context.Context) error {
	if r.fresh() {
		return nil
	}
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return heddle.Wrap(heddle.Waited, "wait for", "credentials of the instance's RAM role", context.Cause(ctx), "try again")
	}
	if r.fresh() {
		return nil
	}
	const at = "ram/security-credentials/"
	name, err := r.meta.get(ctx, at)
	if errors.Is(err, errNoMetadata) || err == nil && name == "" {
		return heddle.Errorf(heddle.NICNotGranted, "ask metadata service", "credentials of the instance's RAM role", "the instance has no role",
			"give it a RAM role; docs/guides/cloud-nics.md lists the rights")
	}
	var text string
	if err == nil {
		text, err = r.meta.get(ctx, at+name)
	}
	if err != nil {
		return err
	}
	return r.take(name, text)
}

// take takes what the service says of the role.
func (r *role) take(name, text string) error {
	var said struct {
		Code, AccessKeyID, AccessKeySecret, SecurityToken string
		Expiration                                        time.Time
	}
	err := json.Unmarshal([]byte(text), &said)
	if err == nil && (said.Code != "Success" || said.AccessKeyID == "" || said.AccessKeySecret == "" || said.SecurityToken == "") {
		err = fmt.Errorf("it has code %q", heddle.Clip(said.Code))
	}
	if err != nil {
		return heddle.Errorf(heddle.NICServiceDown, "ask metadata service", "credentials of RAM role "+heddle.Visible(heddle.Clip(name), false), "the answer cannot be used: "+err.Error(), "try again")
	}
	kind := "sts"
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = credentials.CredentialModel{AccessKeyId: &said.AccessKeyID, AccessKeySecret: &said.AccessKeySecret, SecurityToken: &said.SecurityToken, Type: &kind}
	r.until = said.Expiration.Add(-renewBefore)
	return nil
}
