package agent

import (
	"fmt"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
)

// clusterParts are the parts of the status about the store and the other hosts.
func (a *Agent) clusterParts() []heddle.PartStatus {
	if a.opt.Cluster == nil {
		return nil
	}
	return []heddle.PartStatus{storePart(a.opt.Cluster.View(), a.opt.Cluster.Health()), hostsPart(a.opt.Cluster.View()),
		a.refusedPart(), a.sharedPart(), a.peerPaths.part(a.started)}
}

func storePart(v *cluster.View, h store.Health) heddle.PartStatus {
	up := 0
	for _, m := range h.Members {
		if m.Up {
			up++
		}
	}
	detail := fmt.Sprintf("%d of %d members answer", up, len(h.Members))
	if h.Detail != "" {
		detail += ": " + h.Detail
	}
	part := heddle.PartStatus{Name: "store", State: "ok", Detail: detail}
	switch {
	case v.Strange != nil:
		part.State, part.Detail = "bad", v.Strange.Error()
	case v.Removed:
		part.State, part.Detail = "bad", "this host was removed from the cluster by an operator"
	case h.State == "down":
		part.State, part.Detail = "bad", detail+"; traffic and endpoints in this host's blocks go on"
	case h.State != "ok":
		part.State = "warn"
	}
	return part
}

func hostsPart(v *cluster.View) heddle.PartStatus {
	var away []string
	for _, h := range v.Peers {
		if !v.Alive[h.Name] {
			away = append(away, h.Name)
		}
	}
	part := heddle.PartStatus{Name: "hosts", State: "ok", Detail: fmt.Sprint(1 + len(v.Peers))}
	if len(away) > 0 && v.Revision > 0 {
		part.State, part.Detail = "warn", fmt.Sprintf("%d, of which %d away: %s", 1+len(v.Peers), len(away),
			firstFew(away, ", "))
	}
	if len(v.LeftOut) > 0 {
		var names []string
		for _, h := range v.LeftOut {
			names = append(names, fmt.Sprintf("%s %v", h.Name, h.Underlay))
		}
		part.State = "warn"
		part.Detail += "; left out, for this or another host has their underlay address: " + firstFew(names, ", ") +
			"; remove those that are gone ('heddle host remove NAME'), and give the others an address of their own (--underlay)"
	}
	return part
}

// sharedPart reports differences between this host and the cluster about shared networks.
func (a *Agent) sharedPart() heddle.PartStatus {
	host := a.host.now()
	part := heddle.PartStatus{Name: "tunnels", State: "ok", Detail: "to " + heddle.Count(len(host.Fabric.Peers), "host")}
	var trouble []string
	why := a.hostPaths.problem()
	bad := why != nil
	if bad {
		trouble = append(trouble, why.Error())
	}
	for _, addr := range host.Fabric.Self.Underlay {
		if _, there := host.Holder(addr); !there {
			bad = true
			trouble = append(trouble,
				"no interface has this host's underlay address "+addr.String()+": give it back, or restart heddled to take the new one")
		}
	}
	for _, n := range host.Fabric.Networks {
		if n.Deleting {
			trouble = append(trouble,
				"network "+n.Name+" is being deleted; 'heddle network delete "+n.Name+"' finishes what was cut off")
		}
	}
	trouble = append(trouble, a.problems.networkProblems()...)
	switch {
	case bad:
		part.State, part.Detail = "bad", firstFew(trouble, "; ")
	case len(trouble) > 0:
		part.State, part.Detail = "warn", firstFew(trouble, "; ")
	}
	return part
}

// firstFew joins the first items of a list, and counts the rest.
func firstFew(names []string, separator string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], separator) + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, separator)
}
