package agent

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// refuses says whether the cluster has a network of the name that no host takes on.
func (a *Agent) refuses(name string) bool {
	if a.opt.Cluster == nil {
		return false
	}
	_, is := a.opt.Cluster.View().RefusedNetworks[name]
	return is
}

// dropRefused deletes the record of a network that no host takes on.
func (a *Agent) dropRefused(name string) error {
	if err := a.storeAway("delete network", name); err != nil {
		return err
	}
	ctx, cancel := waiting(context.Background())
	defer cancel()
	return a.opt.Cluster.DropNetwork(ctx, name)
}

// ownSubnets are those of this host's networks whose addresses are found nowhere else.
func (a *Agent) ownSubnets() (all []netip.Prefix) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, n := range a.networks {
		_, guest := n.mode.(heddle.Guest)
		if !guest && !mayShareSubnet(n.mode) && !hasCommonSubnet(n.mode) {
			all = append(all, n.Subnets...)
		}
	}
	return all
}

// fitPeers leaves out the peers whose underlay address this host has itself, or a
// network of it: packets for them would not leave it. The records of the cluster
// cannot tell.
func fitPeers(peers []heddle.Host, h heddle.HostFacts, own []netip.Prefix) (fit []heddle.Host, left []cluster.Refusal) {
	for _, p := range peers {
		if why := misplaced(p, h, own); why != "" {
			left = append(left, cluster.Refusal{Key: "host " + p.Name, Writer: p.Name, Reason: why})
			continue
		}
		fit = append(fit, p)
	}
	return fit, left
}

func misplaced(p heddle.Host, h heddle.HostFacts, own []netip.Prefix) string {
	for _, u := range p.Underlay {
		if l, here := h.Holder(u); here {
			return fmt.Sprintf("its underlay address %s is this host's own, on %s", u, l.Name)
		}
		if slices.ContainsFunc(own, func(s netip.Prefix) bool { return s.Contains(u) }) {
			return fmt.Sprintf("its underlay address %s is one of a network of this host", u)
		}
	}
	return ""
}

// refusedPart tells of the cluster's records that this host does not take on, by who
// wrote them.
func (a *Agent) refusedPart() heddle.PartStatus {
	v := a.opt.Cluster.View()
	all := slices.Concat(a.host.notPeers(), v.Refused)
	part := heddle.PartStatus{Name: "records", State: "ok", Detail: "all are taken on"}
	if len(all) == 0 {
		return part
	}
	var told []string
	for _, f := range all {
		told = append(told, f.String())
	}
	total := v.RefusedCount + len(all) - len(v.Refused)
	part.State = "warn"
	part.Detail = fmt.Sprintf("%d of the cluster's records are not taken on; they cost only who wrote them: %s", total, firstFew(told, "; "))
	return part
}

// stuckPart tells what the last comparison could not put right.
func (a *Agent) stuckPart() heddle.PartStatus {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if len(a.stuck) == 0 {
		return heddle.PartStatus{Name: "repair", State: "ok", Detail: "the host is as planned"}
	}
	var told []string
	for _, owner := range slices.Sorted(maps.Keys(a.stuck)) {
		told = append(told, owner+": "+a.stuck[owner])
	}
	return heddle.PartStatus{Name: "repair", State: "bad", Detail: "not put right: " + firstFew(told, "; ")}
}
