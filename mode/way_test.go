package mode_test

import (
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// way is how a packet gets from a container to somewhere, as the plans say.
type way struct {
	to   string
	hops []hop
}

// hop is a station of a way.
type hop struct {
	place      place
	what, name string
}

type place int

const (
	inContainer place = iota
	onHost
	fastPath
	outside
)

// ways are those of the variant's packets.
func (v variant) ways(network, endpoint heddle.Plan) []way {
	w := wayfinder{variant: v}
	plans := []heddle.Plan{network, endpoint}
	if r, ok := v.mode.(heddle.Reacher); ok && v.fabric != nil {
		plans = append(plans, r.Reach(heddle.HostFacts{Name: facts.Name, Links: facts.Links, Fabric: v.fabric}))
	}
	for _, p := range plans {
		w.made.Links = append(w.made.Links, p.Host.Links...)
		w.made.Firewall = append(w.made.Firewall, p.Host.Firewall...)
		w.made.Programs = append(w.made.Programs, p.Host.Programs...)
		w.made.Redirects = append(w.made.Redirects, p.Host.Redirects...)
	}
	pod := slices.IndexFunc(endpoint.Pod.Links, func(l heddle.Link) bool { return l.Parent != "" })
	switch {
	case len(endpoint.Pod.NICs) > 0:
		nic := endpoint.Pod.NICs[0]
		return []way{{"to the outside", []hop{{inContainer, "NIC " + nic.Name, "here " + nic.IfName}, {outside, "LAN", ""}}}}
	case pod >= 0:
		return w.onParent(endpoint.Pod.Links[pod])
	case len(endpoint.Pod.Links) == 0:
		return []way{{"to the outside", []hop{{inContainer, "process", "no network of its own"}, w.stack(), w.uplink()}}}
	}
	return w.byVeth()
}

// wayfinder reads ways out of what the plans make on the host.
type wayfinder struct {
	variant
	made heddle.State
}

func (w wayfinder) uplink() hop {
	if w.network.Parent != "" {
		return hop{outside, "NIC", w.network.Parent}
	}
	return hop{outside, "NIC", facts.Links[0].Name}
}

// stack is the host's routing and firewall. It masquerades if the plans have a rule for what leaves
// the network.
func (w wayfinder) stack() hop {
	name := "routing"
	for _, f := range w.made.Firewall {
		if strings.HasPrefix(f.Name, "masq-") && slices.ContainsFunc(f.Rules, func(r string) bool { return strings.HasPrefix(r, "oifgroup != ") }) {
			name = "routing, masquerade"
		}
	}
	return hop{onHost, "host’s stack", name}
}

// onParent are the ways by a device on a NIC of the host.
func (w wayfinder) onParent(l heddle.Link) []way {
	own, parent := hop{inContainer, l.Kind + " " + l.SubMode, l.Name}, hop{outside, "NIC", l.Parent}
	other := hop{inContainer, "other container", l.Name}
	all := []way{
		{"to the LAN", []hop{own, parent, {outside, "LAN", ""}}},
		{"to a container on the same NIC", []hop{own, parent, other}},
	}
	beside := slices.IndexFunc(w.made.Links, func(h heddle.Link) bool { return h.Parent == l.Parent })
	if beside < 0 {
		return all
	}
	host := hop{onHost, w.made.Links[beside].Kind, w.made.Links[beside].Name}
	all = append(all, way{"to the host", []hop{own, parent, host, w.stack()}})
	if len(w.made.Redirects) > 0 {
		redirected := hop{outside, "NIC, redirected", l.Parent}
		all = append(all, way{"to a service", []hop{own, redirected, host, w.stack()}})
	}
	return all
}

// byVeth are the ways by a pair of which one end is on the host.
func (w wayfinder) byVeth() []way {
	end := w.made.Links[slices.IndexFunc(w.made.Links, func(l heddle.Link) bool { return l.PeerInPod })]
	own, port := hop{inContainer, "container", end.Peer}, hop{onHost, end.Kind, end.Name}
	other := hop{inContainer, "other container", end.Peer}
	between, out := w.stack(), []hop{own, port}
	between.name = "routing"
	if end.Master != "" {
		between = hop{onHost, "bridge", end.Master}
		out = append(out, between)
	}
	all := []way{
		{"to the outside", append(out, w.stack(), w.uplink())},
		{"to a container of the network, on this host", []hop{own, port, between, {onHost, end.Kind, "hd…"}, other}},
	}
	tunnel := slices.IndexFunc(w.made.Links, func(l heddle.Link) bool { return l.Tunnel != nil })
	far := hop{outside, "other host", ""}
	if tunnel >= 0 {
		vxlan := hop{onHost, "VXLAN", w.made.Links[tunnel].Name}
		all = append(all, way{"to a container of the network, on another host", []hop{own, port, between, vxlan, w.uplink(), far}})
	}
	if !slices.ContainsFunc(w.made.Programs, func(p heddle.Program) bool { return p.Link == end.Name }) {
		return all
	}
	fast := hop{fastPath, "fast path", "at " + end.Name}
	all[1].to += ", if the fast path leaves it"
	all = slices.Insert(all, 1, way{"to a container of the network, on this host", []hop{own, fast, other}})
	if tunnel >= 0 {
		all[3].to += ", if the fast path leaves it"
		all = slices.Insert(all, 3, way{"to a container of the network, on another host", []hop{own, fast, w.uplink(), far}})
	}
	return all
}
