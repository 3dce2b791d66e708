package client

import (
	"context"
	"net/url"

	"github.com/heddle-network/heddle/policy"
)

// PathPolicies lists and makes policies, PathPolicyTest answers questions about them.
const (
	PathPolicies   = "/v1/policies"
	PathPolicyTest = "/v1/policies/test"
)

// PoliciesRequest makes policies, all or none. With Replace, those that are there and say something else are replaced.
type PoliciesRequest struct {
	Policies []policy.Policy `json:"policies"`
	Replace  bool            `json:"replace,omitempty"`
	DryRun   bool            `json:"dryRun,omitempty"`
}

// Policies lists the policies of this host.
func (c *Client) Policies(ctx context.Context) (all []policy.Policy, err error) {
	return all, c.call(ctx, "GET", PathPolicies, nil, &all)
}

// Policy returns one policy, with the endpoints that it selects.
func (c *Client) Policy(ctx context.Context, name string) (p policy.Shown, err error) {
	return p, c.call(ctx, "GET", PathPolicies+"/"+url.PathEscape(name), nil, &p)
}

// CreatePolicies makes policies, all or none.
func (c *Client) CreatePolicies(ctx context.Context, some []policy.Policy, replace bool) error {
	return c.call(ctx, "POST", PathPolicies, PoliciesRequest{Policies: some, Replace: replace}, &struct{}{})
}

// DeletePolicy removes a policy.
func (c *Client) DeletePolicy(ctx context.Context, name string) error {
	return c.call(ctx, "DELETE", PathPolicies+"/"+url.PathEscape(name), nil, &struct{}{})
}

// TestPolicies asks whether a connection would be allowed.
func (c *Client) TestPolicies(ctx context.Context, q policy.Question) (all []policy.Answer, err error) {
	return all, c.call(ctx, "POST", PathPolicyTest, q, &all)
}
