package agent

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/heddle-network/heddle"
)

// mender puts back what somebody else removed or changed of ours, each network's and each
// endpoint's for itself. It counts what it did.
type mender struct {
	kernel     Interpreter
	namespaces Namespaces
	log        *slog.Logger
	gates      *gates
	networks   *register
	roll       *roll
	ways       *ways
	plans      *plans
	troubles   *troubles
	handovers  *handovers
	links      *links
	works      *keyed[atWorks, string]
	ids        *keyed[atIDs, heddle.EndpointID]
	mending    *errands
	// done counts the objects that were put back.
	done atomic.Uint64
}

// What may be stuck beside networks and endpoints.
const (
	wholeHost = "host"
	tunnels   = "tunnels"
)

// reconcile compares the whole host with the plans, and has repaired what differs, each
// network and each endpoint for itself: nobody's repair waits for another's.
func (m *mender) reconcile() (repairs []<-chan struct{}) {
	m.gates.open()
	drift, err := m.kernel.Diff(heddle.Plan{Host: m.plans.union()}, nil)
	if err != nil {
		m.log.Error("host not compared with its plans", "error", err)
		m.troubles.noteStuck(wholeHost, fmt.Errorf("it cannot be compared with its plans: %w", err))
		return nil
	}
	mend := func(key string, w work, repair func()) {
		w.what = "repair"
		repairs = append(repairs, m.mending.start(key, w, func(t *task) {
			t.awaits("the kernel")
			repair()
		}))
	}
	broken := m.plans.ownersOf(drift)
	m.troubles.forgetStuck(broken)
	if broken.reach {
		mend("reach", work{}, func() { m.putBack(tunnels, m.ways.mend) })
	} else {
		m.ways.setError(nil)
	}
	for _, n := range broken.networks {
		mend(n.ID, work{network: n.Name}, func() { m.network(n.ID) })
	}
	for _, r := range broken.endpoints {
		id := r.Endpoint.ID
		mend(id.String(), work{endpoint: id.String(), network: r.Endpoint.NetworkName}, func() { m.endpoint(id) })
	}
	return repairs
}

// network puts back what is missing of a network's plan, unless it was deleted meanwhile.
func (m *mender) network(id string) {
	defer m.works.Lock(id)()
	n := m.networks.byID(id)
	if n == nil {
		return
	}
	defer m.links.sharingParent(n.plan.Host)()
	m.putBack(n.Name, func() ([]string, error) { return m.kernel.Mend(n.plan.Host) })
}

// endpoint is that for an endpoint that is made.
func (m *mender) endpoint(id heddle.EndpointID) {
	defer m.ids.Lock(id)()
	if now, known := m.roll.get(id); known && m.roll.pendingOf(id) == "" {
		m.putBack(id.String(), func() ([]string, error) { return m.repair(now) })
	}
}

// repair applies a recorded plan again if the container is still there.
func (m *mender) repair(r record) (made []string, err error) {
	if r.Endpoint.Handover {
		return m.handovers.repairHandover(r)
	}
	if len(r.Plan.Pod.Links) == 0 || r.Endpoint.NIC != nil {
		return nil, nil // of a NIC, nothing is on the host
	}
	pod, err := m.namespaces.OpenPod(r.Endpoint.Netns)
	if err != nil {
		return nil, nil
	}
	defer pod.Close()
	if m.namespaces.IsOwn(pod) || !r.isPodOf(pod) {
		return nil, nil
	}
	return m.handovers.applyAgain(r, pod)
}

func (m *mender) putBack(owner string, apply func() ([]string, error)) {
	made, err := apply()
	if err != nil {
		m.log.Error("drift not repaired", "owner", owner, "error", err)
	}
	m.troubles.noteStuck(owner, err)
	if len(made) > 0 {
		m.done.Add(uint64(len(made)))
		m.log.Warn("put back what somebody removed or changed", "owner", owner, "count", len(made), "first", made[0])
	}
}
