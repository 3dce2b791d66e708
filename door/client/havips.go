package client

import (
	"context"
	"net/url"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
)

// PathHAVIPs lists and makes addresses that one of several endpoints holds, PathHAVIPHolder gives one to an endpoint.
const (
	PathHAVIPs      = "/v1/havips"
	PathHAVIPHolder = "/v1/havips/holder"
)

// HAVIPRequest makes such an address.
type HAVIPRequest struct {
	HAVIP  havip.HAVIP `json:"havip"`
	DryRun bool        `json:"dryRun,omitempty"`
}

// HolderRequest gives an address to one of its members.
type HolderRequest struct {
	Name     string            `json:"name"`
	Endpoint heddle.EndpointID `json:"endpoint"`
	DryRun   bool              `json:"dryRun,omitempty"`
}

// HAVIPReply is an address, or the commands of a dry run.
type HAVIPReply struct {
	HAVIP    havip.Shown `json:"havip"`
	Commands []string    `json:"commands,omitempty"`
}

// HAVIPs lists the addresses of this host.
func (c *Client) HAVIPs(ctx context.Context) (all []havip.Shown, err error) {
	return all, c.call(ctx, "GET", PathHAVIPs, nil, &all)
}

// HAVIP returns one.
func (c *Client) HAVIP(ctx context.Context, name string) (h havip.Shown, err error) {
	return h, c.call(ctx, "GET", havipPath(name), nil, &h)
}

// CreateHAVIP makes an address. A dry run returns the commands.
func (c *Client) CreateHAVIP(ctx context.Context, h havip.HAVIP, dryRun bool) (r HAVIPReply, err error) {
	return r, c.call(ctx, "POST", PathHAVIPs, HAVIPRequest{h, dryRun}, &r)
}

// AssignHAVIP gives an address to one of its members. A dry run returns the commands.
func (c *Client) AssignHAVIP(ctx context.Context, name string, id heddle.EndpointID, dryRun bool) (r HAVIPReply, err error) {
	return r, c.call(ctx, "POST", PathHAVIPHolder, HolderRequest{name, id, dryRun}, &r)
}

// DeleteHAVIP removes an address.
func (c *Client) DeleteHAVIP(ctx context.Context, name string) error {
	return c.call(ctx, "DELETE", havipPath(name), nil, &CommandsReply{})
}

// HAVIPDeletion is the dry run of DeleteHAVIP.
func (c *Client) HAVIPDeletion(ctx context.Context, name string) ([]string, error) {
	var r CommandsReply
	err := c.call(ctx, "GET", havipPath(name)+"/deletion", nil, &r)
	return r.Commands, err
}

func havipPath(name string) string { return PathHAVIPs + "/" + url.PathEscape(name) }
