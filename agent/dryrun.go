package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
)

// The dry runs of what removes or changes something: each makes the checks of the call itself, and
// returns the commands that a person could type on this host. What the store is told is a comment.

// DetachCommands is the dry run of Detach.
func (a *Agent) DetachCommands(ctx context.Context, id heddle.EndpointID) (lines []string, found bool, err error) {
	if err := a.acceptDetach(ctx, id); err != nil {
		return nil, false, err
	}
	r, found := a.records.get(id)
	if !found {
		return nil, false, nil
	}
	plan, pod, err := a.handovers.removalPlan(r)
	if err != nil {
		return nil, true, err
	}
	if pod != nil {
		pod.Close()
	} else {
		plan.Pod = heddle.State{} // it went with the container
	}
	lines = commands.Removal(plan, r.Endpoint.Netns, a.wanted.byOthers)
	if r.Request.ResolvConf {
		lines = append(lines, "rm "+a.resolvConfPath(r.Endpoint))
	}
	if r.Endpoint.DefaultRoute {
		lines = append(lines, "# the container's default route passes to the oldest other endpoint that can carry it")
	}
	return lines, true, nil
}

// MoveCommands is the dry run of Move.
func (a *Agent) MoveCommands(ctx context.Context, id heddle.EndpointID, to string) (heddle.Endpoint, []string, error) {
	if a.hasPlugged(id) {
		return a.permitCommands(id, to)
	}
	r, n, err := a.checkMove(id, to)
	if err != nil {
		return heddle.Endpoint{}, nil, err
	}
	lines, _, err := a.DetachCommands(ctx, id)
	var addrs []string
	for _, p := range r.Endpoint.Addrs {
		addrs = append(addrs, p.Addr().String())
	}
	lines = append(lines, "# in the store: "+strings.Join(addrs, ", ")+" of network "+n.Name+" is lent to host "+to+
		", for endpoint "+id.String())
	return r.Endpoint, lines, err
}

// DeleteCommands is the dry run of DeleteNetwork. Whether other hosts use the network is not asked.
func (a *Agent) DeleteCommands(name string) ([]string, error) {
	inStore := func(n string) string {
		return "# in the store: network " + n + " is deleted, and every host does the same"
	}
	n, err := a.networks.find(name)
	if err != nil {
		if a.isRefused(name) || a.onlyElsewhere(name) != nil {
			return []string{inStore(name)}, nil
		}
		return nil, err
	}
	if used := a.endpointsOn(n.ID); len(used) > 0 {
		return nil, inUse(n.Name, used)
	}
	lines := commands.Removal(n.plan, "", a.wanted.byOthers)
	if n.Shared && a.opt.Cluster != nil {
		lines = append([]string{inStore(n.Name)}, lines...)
	}
	return lines, nil
}

// PermissionCommands is the dry run of Allow and Disallow.
func (a *Agent) PermissionCommands(first, second string, on bool) ([]string, error) {
	return a.permit(first, second, on, true)
}

// permissionCommands are those for one network's record.
func (a *Agent) permissionCommands(n, other *network, on, shared bool) ([]string, error) {
	next := n.Network
	setAllowed(&next, other.ID, on)
	next, err := heddle.Bounded(next)
	if err != nil {
		return nil, err
	}
	plan, err := n.mode.Network(a.host.now(), next)
	if err != nil {
		return nil, err
	}
	lines := commands.Change(n.plan.Host, plan.Host, a.wanted.byOthers)
	if shared {
		change := "allows traffic with " + other.Name
		if !on {
			change = "no longer " + change
		}
		said := "# in the store: network " + n.Name + " " + change + ", and every host does the same"
		lines = append([]string{said}, lines...)
	}
	return lines, nil
}

// Garbage is the dry run of GC: it lists what that would remove.
func (a *Agent) Garbage(owner string, keep []heddle.EndpointID) ([]string, error) {
	a.removals.await("")
	beside := a.beingAttached()
	var all []string
	for _, r := range a.records.filter(func(record, string) bool { return true }) {
		if id := r.Endpoint.ID.String(); !(owner != "" && beside[id]) && a.garbage(r, owner, keep) {
			all = append(all, "endpoint "+id)
		}
	}
	slices.Sort(all)
	if owner != "" {
		return all, nil
	}
	for _, f := range a.holds.listStrays() {
		if f.Kind == "leftover" {
			all = append(all, f.Object)
		}
	}
	left, err := a.plans.leftovers()
	return append(all, left...), err
}
