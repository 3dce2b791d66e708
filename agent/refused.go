package agent

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// isRefused reports whether the cluster has a network of this name that no host accepts.
func (a *Agent) isRefused(name string) bool {
	if a.opt.Cluster == nil {
		return false
	}
	_, is := a.opt.Cluster.View().RefusedNetworks[name]
	return is
}

// onlyElsewhere returns the network of the cluster that has the name or ID and that this host could
// not make; nil if there is none.
func (a *Agent) onlyElsewhere(name string) *network {
	if a.opt.Cluster == nil {
		return nil
	}
	for _, n := range a.opt.Cluster.View().Networks {
		if n.Name == name || n.ID == name {
			return &network{Network: n}
		}
	}
	return nil
}

// dropRefused deletes the record of a network that no host accepts.
func (a *Agent) dropRefused(name string) error {
	if err := checkStoreUp(a.opt.Cluster, "delete network", name); err != nil {
		return err
	}
	ctx, cancel := withStoreTimeout(context.Background())
	defer cancel()
	return a.opt.Cluster.DropNetwork(ctx, name)
}

// usablePeers leaves out peers whose underlay address belongs to this host or to one of its
// networks: packets for them would not leave the host. The cluster's records cannot show this.
func usablePeers(peers []heddle.Host, h heddle.HostFacts,
	own []netip.Prefix) (fit []heddle.Host, left []cluster.Refusal) {
	for _, p := range peers {
		if why := peerConflict(p, h, own); why != "" {
			left = append(left, cluster.Refusal{Key: "host " + p.Name, Writer: p.Name, Reason: why})
			continue
		}
		fit = append(fit, p)
	}
	return fit, left
}

func peerConflict(p heddle.Host, h heddle.HostFacts, own []netip.Prefix) string {
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

// refusedPart reports the cluster's records that this host does not accept, with the host that
// wrote each.
func (a *Agent) refusedPart() heddle.PartStatus {
	v := a.opt.Cluster.View()
	ofNames, names := a.opt.Cluster.RefusedNames()
	all := slices.Concat(a.host.listUnfitPeers(), v.Refused, ofNames)
	part := heddle.PartStatus{Name: "records", State: "ok", Detail: "all are taken on"}
	if len(all) == 0 {
		return part
	}
	var texts []string
	for _, f := range all {
		texts = append(texts, f.String())
	}
	total := v.RefusedCount + len(all) - len(v.Refused) + names - len(ofNames)
	part.State = "warn"
	part.Detail = fmt.Sprintf("%d of the cluster's records are not taken on; they cost only who wrote them: %s", total,
		firstFew(texts, "; "))
	return part
}
