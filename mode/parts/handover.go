package parts

import (
	"slices"

	"github.com/heddle-network/heddle"
)

// Some engines move the container's end of a link themselves. The agent tells the engine the name
// of this end on the host. Later the end is in the container under the engine's own name, with
// addresses and routes from the engine. The plan of such an endpoint has two forms. Before the
// handover, both ends are on the host. After it, the plan is like any other, but without the routes
// in the container, which the engine manages. An engine that moves the link and does nothing else manages none.

// HandOver turns a plan into that of an endpoint that an engine moves. The form after the
// handover is used if the interface's name in the container is known.
func HandOver(p heddle.Plan, e heddle.Endpoint) heddle.Plan {
	switch {
	case e.Inside == "":
		return beforeHandover(p, e)
	case e.LinkOnly:
		return afterMove(p, e)
	}
	return afterHandover(p, e)
}

// afterMove is the plan for a link that was moved, and no more. Its default routes have a metric of their own: the namespace may have others, and nobody was asked which one
// it wants. Where IPv6 is switched off there, it stays so.
func afterMove(p heddle.Plan, e heddle.Endpoint) heddle.Plan {
	p.Pod.Routes = slices.Clone(p.Pod.Routes)
	for i, r := range p.Pod.Routes {
		if r.Dst.Bits() == 0 {
			p.Pod.Routes[i].Metric = e.ID.Metric()
		}
	}
	if e.NoIPv6 {
		p.Pod = withoutIPv6(p.Pod)
	}
	return p
}

// withoutIPv6 is what a container has in which IPv6 is switched off.
func withoutIPv6(pod heddle.State) heddle.State {
	pod.Addresses = slices.DeleteFunc(slices.Clone(pod.Addresses), func(a heddle.Address) bool { return a.Prefix.Addr().Is6() })
	pod.Routes = slices.DeleteFunc(slices.Clone(pod.Routes), func(r heddle.Route) bool { return r.Dst.Addr().Is6() })
	pod.Neighbours = slices.DeleteFunc(slices.Clone(pod.Neighbours), func(n heddle.Neighbour) bool { return n.Addr.Is6() })
	return pod
}

func beforeHandover(p heddle.Plan, e heddle.Endpoint) heddle.Plan {
	name := e.ID.HandName()
	host := p.Host
	host.Links = slices.Clone(host.Links)
	for i, l := range host.Links {
		if l.PeerInPod {
			host.Links[i].Peer, host.Links[i].PeerInPod = name, false
		}
	}
	for _, l := range p.Pod.Links {
		if l.Kind != "" {
			l.Name, l.Down = name, true
			host.Links = append(host.Links, l)
		}
	}
	return heddle.Plan{Host: host, Pod: heddle.State{NICs: p.Pod.NICs}}
}

// afterHandover removes from the container's part what the engine manages: routes, except those
// to name servers, the loopback, and how IPv6 link-local addresses are made. The engine has already
// done everything that depends on setting the interface up or down.
func afterHandover(p heddle.Plan, e heddle.Endpoint) heddle.Plan {
	pod := heddle.State{NICs: p.Pod.NICs, Sysctls: p.Pod.Sysctls, Neighbours: p.Pod.Neighbours}
	for _, l := range p.Pod.Links {
		if l.Kind != "" {
			l.NoAutoAddress = false
			pod.Links = append(pod.Links, l)
		}
	}
	for _, a := range p.Pod.Addresses {
		if a.Prefix.Addr().IsLinkLocalUnicast() {
			pod.Addresses = append(pod.Addresses, a)
		}
	}
	for _, a := range e.Addrs {
		pod.Addresses = append(pod.Addresses, heddle.Address{Link: e.Interface(), Prefix: a})
	}
	for _, r := range p.Pod.Routes {
		if e.OwnRoutes && r.Dst.Bits() == 0 {
			r.Metric = e.ID.Metric() // behind one that the engine may have on another network
		}
		if e.OwnRoutes || isNameRoute(e, r) {
			pod.Routes = append(pod.Routes, r)
		}
	}
	if e.NoIPv6 {
		pod = withoutIPv6(pod)
	}
	return heddle.Plan{Host: p.Host, Pod: pod}
}

// EngineRoutes are the routes that an engine must make in the container: the connected ones first,
// then those through them. The engine makes default routes itself. It knows no metrics: of the
// routes through several networks to one name server it can make one.
func EngineRoutes(p heddle.Plan, e heddle.Endpoint) []heddle.Route {
	var all []heddle.Route
	for _, direct := range []bool{true, false} {
		for _, r := range p.Pod.Routes {
			if r.Via.IsValid() != direct && r.Dst.Bits() > 0 && (e.NameRoutes || !isNameRoute(e, r)) {
				r.Metric = 0
				all = append(all, r)
			}
		}
	}
	return all
}
