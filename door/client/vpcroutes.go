package client

import (
	"context"
	"net/netip"

	"github.com/heddle-network/heddle/vpcroute"
)

// PathVPCRoutes lists and adds static routes of the agent's VPC, PathVPCRouteDeletion deletes one.
const (
	PathVPCRoutes        = "/v1/vpcroutes"
	PathVPCRouteDeletion = "/v1/vpcroutes/deletion"
)

// VPCRouteRequest adds a static route.
type VPCRouteRequest struct {
	Route  vpcroute.Route `json:"route"`
	DryRun bool           `json:"dryRun,omitempty"`
}

// VPCRouteReply is a route, or the commands of a dry run.
type VPCRouteReply struct {
	Route    vpcroute.Shown `json:"route"`
	Commands []string       `json:"commands,omitempty"`
}

// VPCRouteDeletion deletes a static route.
type VPCRouteDeletion struct {
	Destination netip.Prefix `json:"destination"`
	DryRun      bool         `json:"dryRun,omitempty"`
}

// VPCRouteDeleted says whether there was such a route, or has the commands of a dry run.
type VPCRouteDeleted struct {
	Existed  bool     `json:"existed"`
	Commands []string `json:"commands,omitempty"`
}

// VPCRoutes lists the static routes of the agent's VPC.
func (c *Client) VPCRoutes(ctx context.Context) (all []vpcroute.Shown, err error) {
	return all, c.call(ctx, "GET", PathVPCRoutes, nil, &all)
}

// AddVPCRoute adds a static route. A dry run returns the commands.
func (c *Client) AddVPCRoute(ctx context.Context, r vpcroute.Route, dryRun bool) (reply VPCRouteReply, err error) {
	return reply, c.call(ctx, "POST", PathVPCRoutes, VPCRouteRequest{r, dryRun}, &reply)
}

// DeleteVPCRoute deletes a static route. A dry run returns the commands.
func (c *Client) DeleteVPCRoute(ctx context.Context, destination netip.Prefix, dryRun bool) (reply VPCRouteDeleted, err error) {
	return reply, c.call(ctx, "POST", PathVPCRouteDeletion, VPCRouteDeletion{destination, dryRun}, &reply)
}
