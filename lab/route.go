package lab

import (
	"net/netip"

	"github.com/heddle-network/heddle"
)

// routeSpec is a route to a subnet: through a NIC, by way of a router.
type routeSpec struct {
	Dst netip.Prefix `json:"dst"`
	Via netip.Addr   `json:"via"`
	NIC int          `json:"nic"`
}

// routes returns a node's routes: to each subnet of switches that it is not wired to, through
// as few routers as possible. A host also has default routes: through the first router on its
// first switch, or else the switch itself. A NIC without an address of the family has none of
// its routes.
func (t Topology) routes(n *Node) (all []routeSpec) {
	add := func(dst netip.Prefix, gateways []netip.Prefix, nic int) {
		f := heddle.FamilyOf(dst.Addr())
		if via := ofFamily(gateways, f); via.IsValid() && ofFamily(n.NICs[nic].Addresses, f).IsValid() {
			all = append(all, routeSpec{dst, via, nic})
		}
	}
	first := t.firstHops(n)
	for i := range t.Switches {
		sw := &t.Switches[i]
		h, found := first[sw.Name]
		if !found || h.router == nil {
			continue
		}
		for _, p := range sw.Subnets {
			add(p, h.router.Addresses, h.nic)
		}
	}
	if n.Router {
		return all
	}
	home := n.NICs[0].Switch
	gateways := t.findSwitch(home).addresses(routerNumber)
	if r := t.firstRouter(home); r != nil {
		gateways = r.Addresses
	}
	for _, f := range heddle.Families() {
		add(f.Any(), gateways, 0)
	}
	return all
}

// firstHop is the node's NIC and the first router's NIC on the way to a switch. There is no
// router if the node is wired to the switch.
type firstHop struct {
	nic    int
	router *NIC
}

// firstHops finds the way to each switch, by breadth-first search from the node.
func (t Topology) firstHops(n *Node) map[string]firstHop {
	reached := map[string]firstHop{}
	var queue []string
	reach := func(sw string, h firstHop) {
		if _, seen := reached[sw]; !seen {
			reached[sw] = h
			queue = append(queue, sw)
		}
	}
	for i, nic := range n.NICs {
		reach(nic.Switch, firstHop{nic: i})
	}
	for len(queue) > 0 {
		from := queue[0]
		queue = queue[1:]
		for r := range t.Hosts {
			router := &t.Hosts[r]
			near := router.on(from)
			if !router.Router || router.Name == n.Name || near == nil {
				continue
			}
			way := reached[from]
			if way.router == nil {
				way.router = near
			}
			for _, far := range router.NICs {
				reach(far.Switch, way)
			}
		}
	}
	return reached
}

// on returns the node's first NIC on the switch.
func (n *Node) on(sw string) *NIC {
	for i := range n.NICs {
		if n.NICs[i].Switch == sw {
			return &n.NICs[i]
		}
	}
	return nil
}

func (t Topology) firstRouter(sw string) *NIC {
	for i := range t.Hosts {
		if n := &t.Hosts[i]; n.Router && n.on(sw) != nil {
			return n.on(sw)
		}
	}
	return nil
}
