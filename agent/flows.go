package agent

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// forgetFlows lets clients of published ports find the endpoint that has them now. The
// endpoints are made or gone by then, and a host with many connections takes long to
// list them: that is done behind whoever called, and a failure is only told.
func (a *Agent) forgetFlows(of ...heddle.Endpoint) {
	of = slices.DeleteFunc(of, func(e heddle.Endpoint) bool { return len(e.Ports) == 0 })
	if len(of) == 0 {
		return
	}
	a.finished.Go(func() {
		a.forgetting.Lock()
		defer a.forgetting.Unlock()
		for _, e := range of {
			if err := a.kernel.ForgetFlows(e, a.leads); err != nil {
				a.log.Warn("old connections not forgotten", "endpoint", e.ID, "error", err)
			}
		}
	})
}

// leads reports whether a port of the host is published now, on whichever address of
// it, as the container's port at an address.
func (a *Agent) leads(p heddle.PortMapping, to netip.Addr) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.ContainsFunc(a.ports[portKey(p)], func(q published) bool {
		has := func(of netip.Prefix) bool { return of.Addr() == to }
		return q.ContainerPort == p.ContainerPort && slices.ContainsFunc(a.endpoints[q.by].Endpoint.Addrs, has)
	})
}
