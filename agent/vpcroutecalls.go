package agent

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/vpcroute"
)

// VPCRoutes lists the static routes of this VPC, and what has become of each.
func (a *Agent) VPCRoutes() []vpcroute.Shown {
	return a.routes.now().Show(a.networks.all(), a.routes.members())
}

// AddVPCRoute adds a static route. One that is there with the same next hop is left as it is. A dry run changes nothing, and returns the commands.
func (a *Agent) AddVPCRoute(want vpcroute.Route, dryRun bool) (shown vpcroute.Shown, lines []string, err error) {
	err = a.againAfterFlush(a.networks.all(), func() (err error) {
		shown, lines, err = a.addVPCRoute(want, dryRun)
		return err
	})
	return shown, lines, err
}

func (a *Agent) addVPCRoute(want vpcroute.Route, dryRun bool) (shown vpcroute.Shown, lines []string, err error) {
	const op = "add route"
	end, err := a.beginRoute(op, want.Destination)
	if err != nil {
		return shown, nil, err
	}
	defer end()
	v := a.routes
	v.updating.Lock()
	defer v.updating.Unlock()
	old, known := v.table[want.Destination]
	want, err = v.checked(want)
	if known && (old.Same(want) || err != nil && old.NextHop == want.NextHop) { // its next hop may be away
		return v.shown(v.table, want.Destination), nil, nil
	}
	if err != nil {
		return shown, nil, err
	}
	next := maps.Clone(v.table)
	if next == nil {
		next = vpcroute.Table{}
	}
	switch {
	case known:
		return shown, nil, heddle.Errorf(heddle.RouteExists, op, want.Destination.String(), "it leads to "+old.Leads(), "delete it first, or choose a longer prefix, which wins")
	case len(v.table) >= vpcroute.MaxRoutes:
		return shown, nil, heddle.Errorf(heddle.TooMuch, op, want.Destination.String(), "the VPC has as many routes as it can have", "delete one that nobody needs")
	}
	next[want.Destination] = want
	if dryRun {
		return v.shown(next, want.Destination), commands.Change(v.state, v.compile(next), a.wanted.byOthers), nil
	}
	if err := v.trip.step("ledger route"); err != nil {
		return shown, nil, err
	}
	if err := v.ledger.putRoute(want); err != nil {
		return shown, nil, err
	}
	if err := v.apply(next); err != nil {
		return shown, nil, errors.Join(err, v.ledger.dropRoute(want.Destination))
	}
	return v.shown(next, want.Destination), nil, nil
}

// DeleteVPCRoute removes a static route, and reports whether there was one.
func (a *Agent) DeleteVPCRoute(destination netip.Prefix, dryRun bool) (existed bool, lines []string, err error) {
	err = a.againAfterFlush(a.networks.all(), func() (err error) {
		existed, lines, err = a.deleteVPCRoute(destination, dryRun)
		return err
	})
	return existed, lines, err
}

func (a *Agent) deleteVPCRoute(destination netip.Prefix, dryRun bool) (existed bool, lines []string, err error) {
	const op = "delete route"
	end, err := a.beginRoute(op, destination)
	if err != nil {
		return false, nil, err
	}
	defer end()
	v := a.routes
	v.updating.Lock()
	defer v.updating.Unlock()
	old, known := v.table[destination]
	if !known {
		return false, nil, nil
	}
	next := maps.Clone(v.table)
	delete(next, destination)
	if dryRun {
		return true, commands.Change(v.state, v.compile(next), a.wanted.byOthers), nil
	}
	if err := v.trip.step("ledger route delete"); err != nil {
		return true, nil, err
	}
	if err := v.ledger.dropRoute(destination); err != nil {
		return true, nil, err
	}
	if err := v.apply(next); err != nil {
		return true, nil, errors.Join(err, v.ledger.putRoute(old))
	}
	return true, nil, nil
}

// beginRoute begins a call that changes something. It is refused by agents that have no VPC.
func (a *Agent) beginRoute(op string, destination netip.Prefix) (end func(), err error) {
	if !a.ready.Load() {
		return nil, heddle.Errorf(heddle.Stopping, op, destination.String(), "", "call again when the agent is back")
	}
	if _, err := a.modes.find(heddle.ModePeering); err != nil {
		return nil, heddle.Errorf(heddle.NoRoute, op, destination.String(), "this is the host's agent, and the host's routes are not heddle's", "name a VPC that 'heddle vpc list' shows")
	}
	return a.tasks.begin(work{what: op}, "the kernel").end, nil
}

// checked completes a route with the endpoint that is its next hop. It refuses one that no endpoint is, and one that would overrule a network.
func (v *vpcRoutes) checked(r vpcroute.Route) (vpcroute.Route, error) {
	const op = "add route"
	if err := r.Check(); err != nil {
		return r, err
	}
	for _, n := range v.networks.all() {
		if err := refuseOverruled(op, r.Destination.String(), r.Destination, n); err != nil {
			return r, err
		}
	}
	r.Endpoint, r.Created = heddle.EndpointID{}, time.Now().UTC()
	members := v.members()
	if r.Host {
		if s := (vpcroute.Table{r.Destination: r}).Show(v.networks.all(), members)[0]; s.State != vpcroute.Active {
			return r, heddle.Errorf(heddle.NoRoute, op, r.Destination.String(), s.Cause, "use 'heddle vpc route add', which makes one; for IPv6 the host must have IPv6 then")
		}
		return r, nil
	}
	if !r.NextHop.IsValid() {
		return r, nil
	}
	i := slices.IndexFunc(members, func(m vpcroute.Member) bool { return !m.Host && m.Has(r.NextHop) })
	if i < 0 {
		return r, heddle.Errorf(heddle.NoRoute, op, r.Destination.String(), "no endpoint has the address "+r.NextHop.String(), "name an address that 'heddle endpoint list' shows in that VPC, or blackhole")
	}
	if members[i].Port == "" {
		return r, heddle.Errorf(heddle.NoRoute, op, r.Destination.String(), "nothing guards the port of "+members[i].ID.String()+" on network "+members[i].Network, "use an endpoint on a network of mode bridge")
	}
	r.Endpoint = members[i].ID
	return r, nil
}

// refuseOverruled refuses a route that would take packets from a network.
func refuseOverruled(op, object string, destination netip.Prefix, n heddle.Network) error {
	for _, p := range n.Subnets {
		if vpcroute.Overrules(destination, p) {
			return heddle.Errorf(heddle.SubnetOverlap, op, object, "network "+n.Name+" has "+p.String()+", and a route to "+destination.String()+" would overrule it",
				"a route leads outside the VPC's own networks and peers: choose another prefix, or delete the other one")
		}
	}
	return nil
}

// refuses refuses a network with addresses that a route would take from it.
func (v *vpcRoutes) refuses(n heddle.Network) error {
	for _, r := range v.now().Sorted() {
		if err := refuseOverruled("create network", n.Name, r.Destination, n); err != nil {
			return err
		}
	}
	return nil
}

// shown is one of the routes of a table.
func (v *vpcRoutes) shown(table vpcroute.Table, destination netip.Prefix) vpcroute.Shown {
	all := table.Show(v.networks.all(), v.members())
	i := slices.IndexFunc(all, func(s vpcroute.Shown) bool { return s.Destination == destination })
	return all[i]
}
