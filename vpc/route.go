package vpc

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/vpcroute"
)

// AddRoute adds a static route to a VPC. With the first one whose next hop is the host it makes the VPC's way out: if that fails, there is neither.
// Killed in between, it has left the way out without a route; repeated, it goes on.
func AddRoute(ctx context.Context, of Agents, name string, r vpcroute.Route) (vpcroute.Shown, error) {
	made := false
	if r.Host {
		err := r.Check()
		if err == nil {
			made, err = Lead(ctx, of, name)
		}
		if err != nil {
			return vpcroute.Shown{}, err
		}
	}
	reply, err := of(name).AddVPCRoute(ctx, r, false)
	if err != nil && made {
		_, undo := Close(context.WithoutCancel(ctx), of, name)
		err = errors.Join(err, undo)
	}
	return reply.Route, Away(name, err, "")
}

// AddRouteCommands are what AddRoute does, as a person could type it.
func AddRouteCommands(ctx context.Context, of Agents, name string, r vpcroute.Route) (commands []string, err error) {
	if r.Host {
		if err := r.Check(); err != nil {
			return nil, err
		}
		if commands, err = LeadCommands(ctx, of, name); err != nil {
			return nil, err
		}
		if len(commands) > 0 { // the route itself needs them
			return append(commands, heddle.CommandLine([]string{"heddle", "vpc", "route", "add", name, r.Destination.String(), "--next-hop", r.Goal()})), nil
		}
	}
	reply, err := of(name).AddVPCRoute(ctx, r, true)
	return reply.Commands, Away(name, err, "")
}

// DeleteRoute deletes a static route of a VPC, and reports whether there was one. With the last one whose next hop is the host goes the VPC's way out. Repeated, it
// does what was cut off.
func DeleteRoute(ctx context.Context, of Agents, name string, destination netip.Prefix) (existed bool, err error) {
	closes, err := lastToHost(ctx, of(name), name, destination)
	if err != nil {
		return false, err
	}
	reply, err := of(name).DeleteVPCRoute(ctx, destination, false)
	if err != nil || !closes {
		return reply.Existed, Away(name, err, "")
	}
	if _, err = Close(ctx, of, name); !reply.Existed && errors.Is(err, heddle.AgentDown.Sentinel()) {
		err = nil // as far as is known, there was nothing to do
	}
	return reply.Existed, err
}

// DeleteRouteCommands are what DeleteRoute does, as a person could type it.
func DeleteRouteCommands(ctx context.Context, of Agents, name string, destination netip.Prefix) (commands []string, err error) {
	closes, err := lastToHost(ctx, of(name), name, destination)
	if err != nil {
		return nil, err
	}
	reply, err := of(name).DeleteVPCRoute(ctx, destination, true)
	if err != nil || !closes {
		return reply.Commands, Away(name, err, "")
	}
	commands, err = CloseCommands(ctx, of, name)
	if !reply.Existed && errors.Is(err, heddle.AgentDown.Sentinel()) {
		err = nil
	}
	return append(reply.Commands, commands...), err
}

// lastToHost reports whether no route to the host is left without that to a destination, which is one, or is not there.
func lastToHost(ctx context.Context, agent *client.Client, name string, destination netip.Prefix) (bool, error) {
	all, err := agent.VPCRoutes(ctx)
	if err != nil {
		return false, Away(name, err, "")
	}
	other := slices.ContainsFunc(all, func(s vpcroute.Shown) bool { return s.Host && s.Destination != destination })
	i := slices.IndexFunc(all, func(s vpcroute.Shown) bool { return s.Destination == destination })
	return !other && (i < 0 || all[i].Host), nil
}
