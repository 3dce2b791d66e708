package agent

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// checkConflict refuses an endpoint that conflicts with others of its container: overlapping
// subnets, or the same destination on two interfaces with the same metric in one table. The kernel
// would accept most of this and choose an interface by chance. checkConflict is a pure function.
func checkConflict(e heddle.Endpoint, plan heddle.Plan, others []record) error {
	for _, o := range others {
		if o.Endpoint.ID == e.ID {
			continue
		}
		for _, p := range subnets(e, plan) {
			for _, q := range subnets(o.Endpoint, o.Plan) {
				if p.Overlaps(q) {
					return heddle.Errorf(heddle.RoutesClash, "attach endpoint", e.ID.String(),
						fmt.Sprintf("its subnet %s overlaps %s of interface %s on network %s", p, q,
							o.Endpoint.ID.IfName, o.Endpoint.NetworkName),
						"detach the other endpoint, or use another network")
				}
			}
		}
		for _, r := range plan.Pod.Routes {
			for _, q := range o.Plan.Pod.Routes {
				if r.Dst == q.Dst && r.Table == q.Table && r.Metric == q.Metric && r.Link != q.Link {
					return heddle.Errorf(heddle.RoutesClash, "attach endpoint", e.ID.String(),
						fmt.Sprintf("its route to %s conflicts with that of interface %s on network %s", r.Dst,
							o.Endpoint.ID.IfName,
							o.Endpoint.NetworkName),
						"detach the other endpoint, or give the NIC's route another metric")
				}
			}
		}
	}
	return nil
}

// subnets returns the subnets of the endpoint's addresses and of the other addresses in its
// plan. It leaves out link-local subnets, because every link has its own, and those of a NIC that a
// program drives: no kernel has these addresses.
func subnets(e heddle.Endpoint, plan heddle.Plan) []netip.Prefix {
	var all []netip.Prefix
	add := func(p netip.Prefix) {
		if !p.Addr().IsLinkLocalUnicast() && !p.Addr().IsLoopback() {
			all = append(all, p.Masked())
		}
	}
	if !e.ProgramDrives() {
		for _, a := range e.Addrs {
			add(a)
		}
	}
	for _, a := range plan.Pod.Addresses {
		add(a.Prefix)
	}
	return all
}
