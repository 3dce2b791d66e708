package agent

import (
	"context"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// heedSurroundings brings the plans of networks in line with what else is on the host now,
// and ends masqueraded connections from ports on which a program has begun to listen. If
// this fails for a network, the next patrol tries again.
func (a *Agent) heedSurroundings() {
	var heeded []<-chan struct{}
	for _, n := range a.networks.outdated(a.host.now()) {
		heeded = append(heeded, a.repairJobs.start("surroundings "+n.ID, work{what: "heed what the host has besides", network: n.Name}, func(t *task) {
			t.waitFor("the kernel")
			a.heedAround(n.ID)
		}))
	}
	now := a.host.now().Listening
	newly := a.host.newlyListening(now)
	if len(newly) == 0 {
		return
	}
	a.log.Info("somebody listens on ports that masquerading uses; it keeps clear of them", "ports", newly)
	a.repairJobs.start("shadows", work{what: "keep clear of the host's ports"}, func(t *task) {
		t.waitFor("the kernel")
		awaitAll(context.Background(), lateAfter/2, heeded)
		if len(a.networks.outdated(a.host.now())) == 0 { // nothing new leaves by them
			if err := a.flows.forgetShadows(newly); err != nil {
				a.log.Warn("connections that left by the host's ports not forgotten", "ports", newly, "error", err)
				return
			}
			a.host.setUnmasqueraded(now)
		}
	})
}

// heeds reports whether a network's plan matches what else is on the host. A plan without
// our forwarding always does.
func heeds(p heddle.State, h heddle.HostFacts) bool {
	if !slices.ContainsFunc(p.Firewall, firewall.Masquerades) {
		return true
	}
	var said, is []string
	for _, e := range p.Elements {
		if firewall.Surrounds(e) {
			said = append(said, e.Key())
		}
	}
	for _, e := range firewall.Surroundings(h) {
		is = append(is, e.Key())
	}
	slices.Sort(said)
	slices.Sort(is)
	return slices.Equal(said, is)
}

// heedAround brings a network's plan in line with what else is on the host.
func (a *Agent) heedAround(id string) {
	defer a.networkLocks.Lock(id)()
	n, host := a.networks.byID(id), a.host.now()
	if n == nil || heeds(n.plan.Host, host) {
		return
	}
	plan := n.plan
	plan.Host = plan.Host.Filter(func(o heddle.Object) bool {
		e, is := o.(heddle.Element)
		return !is || !firewall.Surrounds(e)
	})
	plan.Host.Elements = append(plan.Host.Elements, firewall.Surroundings(host)...)
	if err := a.replan(n, n.Network, plan); err != nil {
		a.log.Error("what the host has besides is not heeded", "network", n.Name, "error", err)
	}
}
