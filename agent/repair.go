package agent

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/heddle-network/heddle"
)

// repairer restores our objects that somebody else has removed or changed, for each network and
// each endpoint separately. It counts them.
type repairer struct {
	kernel         PlanApplier
	namespaces     Namespaces
	log            *slog.Logger
	otherFirewalls *otherFirewalls
	networks       *register
	records        *records
	hostPaths      *hostPaths
	policies       *policies
	havips         *havips
	routes         *vpcRoutes
	plans          *plans
	problems       *problems
	handovers      *handovers
	linkLocks      *linkLocks
	networkLocks   *keyed[atNetworkLock, string]
	endpointLocks  *keyed[atIDs, heddle.EndpointID]
	jobs           *jobs
	// repaired counts the objects that were restored.
	repaired atomic.Uint64
}

// Owners of problems besides networks and endpoints.
const (
	wholeHost = "host"
	tunnels   = "tunnels"
)

// reconcile compares the whole host with the plans, and starts the repair of what differs. Each
// network and each endpoint is repaired separately, so no repair waits for another.
func (m *repairer) reconcile() (repairs []<-chan struct{}) {
	m.otherFirewalls.open()
	unfinished := m.records.unfinished()
	drift, err := m.kernel.Diff(heddle.Plan{Host: m.plans.union()}, nil)
	if err != nil {
		m.log.Error("host not compared with its plans", "error", err)
		m.problems.noteUnrepaired(wholeHost, fmt.Errorf("it cannot be compared with its plans: %w", err))
		return nil
	}
	mend := func(key string, w work, repair func()) {
		w.what = "repair"
		repairs = append(repairs, m.jobs.start(key, w, func(t *task) {
			t.waitFor("the kernel")
			repair()
		}))
	}
	broken := m.plans.ownersOf(drift, unfinished)
	m.problems.forgetRepaired(broken)
	if broken.hostPaths {
		mend("reach", work{}, func() { m.putBack(tunnels, m.hostPaths.repair) })
	} else {
		m.hostPaths.setError(nil)
	}
	if broken.policies { // first: until then ports are open
		mend(policyOwner, work{}, m.repairPolicies)
	} else {
		m.problems.noteUnrepaired(policyOwner, m.policies.problem())
	}
	if broken.havips {
		mend(havipOwner, work{}, m.repairHAVIPs)
	} else {
		m.havips.look()
	}
	if broken.routes {
		mend(routeOwner, work{}, m.repairRoutes)
	} else {
		m.routes.look()
	}
	for _, n := range broken.networks {
		mend(n.ID, work{network: n.Name}, func() { m.repairNetwork(n.ID) })
	}
	for _, r := range broken.endpoints {
		id := r.Endpoint.ID
		mend(id.String(), work{endpoint: id.String(), network: r.Endpoint.NetworkName}, func() { m.repairEndpoint(id) })
	}
	return repairs
}

// repairPolicies restores missing parts of what policies need.
func (m *repairer) repairPolicies() { m.putBack(policyOwner, m.policies.repair) }

// repairHAVIPs restores missing parts of what HAVIPs need.
func (m *repairer) repairHAVIPs() { m.putBack(havipOwner, m.havips.repair) }

// repairRoutes restores missing parts of what the routes of a VPC need.
func (m *repairer) repairRoutes() { m.putBack(routeOwner, m.routes.repair) }

// repairNetwork restores missing parts of a network's plan, unless the network was deleted
// meanwhile.
func (m *repairer) repairNetwork(id string) {
	defer m.networkLocks.Lock(id)()
	n := m.networks.byID(id)
	if n == nil {
		return
	}
	defer m.linkLocks.lockParentDevices(n.plan.Host)()
	m.putBack(n.Name, func() ([]string, error) { return m.kernel.Mend(n.plan.Host) })
}

// repairEndpoint does this for an endpoint without an unfinished operation. What it builds on may be missing, too, and not be put back yet.
func (m *repairer) repairEndpoint(id heddle.EndpointID) {
	defer m.endpointLocks.Lock(id)()
	if now, known := m.records.get(id); known && m.records.pendingOf(id) == "" {
		m.putBack(id.String(), func() ([]string, error) {
			made, err := m.reapply(now)
			if lacksBase(err) {
				m.repairNetwork(now.Endpoint.Network)
				made, err = m.reapply(now)
			}
			return made, err
		})
	}
}

// reapply applies a recorded plan again if the container still exists.
func (m *repairer) reapply(r record) (made []string, err error) {
	switch {
	case r.Endpoint.Handover:
		return m.handovers.repairHandover(r)
	case r.Endpoint.TAP:
		return m.handovers.reapply(r, nil)
	}
	if len(r.Plan.Pod.Links) == 0 || r.Endpoint.NIC != nil {
		return nil, nil // an endpoint with a NIC has nothing on the host
	}
	pod, err := m.namespaces.OpenPod(r.Endpoint.Netns)
	if err != nil {
		return nil, nil
	}
	defer pod.Close()
	if m.namespaces.IsOwn(pod) || !r.isPodOf(pod) {
		return nil, nil
	}
	return m.handovers.reapply(r, pod)
}

func (m *repairer) putBack(owner string, apply func() ([]string, error)) {
	made, err := apply()
	if err != nil {
		m.log.Error("drift not repaired", "owner", owner, "error", err)
	}
	m.problems.noteUnrepaired(owner, err)
	if len(made) > 0 {
		m.repaired.Add(uint64(len(made)))
		m.log.Warn("put back what somebody removed or changed", "owner", owner, "count", len(made), "first", made[0])
	}
}
