package client

import (
	"context"
	"net/url"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/policy"
)

// The dry runs of calls that change something: they return the commands by which a person could do the
// same on the agent's host, and change nothing.

// DeleteCommands is the dry run of DeleteNetwork.
func (c *Client) DeleteCommands(ctx context.Context, name string) ([]string, error) {
	var r CommandsReply
	err := c.call(ctx, "GET", PathNetworks+"/"+url.PathEscape(name)+"/deletion", nil, &r)
	return r.Commands, err
}

// PermissionCommands is the dry run of Allow, or with on false of Disallow.
func (c *Client) PermissionCommands(ctx context.Context, first, second string, on bool) ([]string, error) {
	var r CommandsReply
	err := c.call(ctx, "POST", PathAllow, AllowRequest{First: first, Second: second, Off: !on, DryRun: true}, &r)
	return r.Commands, err
}

// PolicyCommands is the dry run of CreatePolicies.
func (c *Client) PolicyCommands(ctx context.Context, some []policy.Policy, replace bool) ([]string, error) {
	var r CommandsReply
	err := c.call(ctx, "POST", PathPolicies, PoliciesRequest{some, replace, true}, &r)
	return r.Commands, err
}

// DeletePolicyCommands is the dry run of DeletePolicy.
func (c *Client) DeletePolicyCommands(ctx context.Context, name string) ([]string, error) {
	var r CommandsReply
	err := c.call(ctx, "GET", PathPolicies+"/"+url.PathEscape(name)+"/deletion", nil, &r)
	return r.Commands, err
}

// DetachCommands is the dry run of Detach.
func (c *Client) DetachCommands(ctx context.Context, id heddle.EndpointID) (commands []string, found bool, err error) {
	var r DetachReply
	err = c.call(ctx, "POST", PathDetach, DetachRequest{EndpointID: id, DryRun: true}, &r)
	return r.Commands, r.Found, err
}

// MoveCommands is the dry run of Move.
func (c *Client) MoveCommands(ctx context.Context, id heddle.EndpointID, to string) ([]string, error) {
	var r MoveReply
	err := c.call(ctx, "POST", PathMove, MoveRequest{ID: id, To: to, DryRun: true}, &r)
	return r.Commands, err
}

// Garbage is the dry run of GC for all owners: it lists what GC would remove.
func (c *Client) Garbage(ctx context.Context) ([]string, error) {
	var r GCReply
	err := c.call(ctx, "POST", PathGC, GCRequest{DryRun: true}, &r)
	return r.Removed, err
}
