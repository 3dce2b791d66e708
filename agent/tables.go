package agent

import (
	"github.com/heddle-network/heddle"
)

// remember, want, unwant and erase keep the tables in memory.
func (a *Agent) remember(r record, op string) {
	a.mu.Lock()
	a.endpoints[r.Endpoint.ID] = r
	if r.Inode != 0 && !r.Endpoint.Handover { // an engine has default routes of its own
		if a.inPods[r.Inode] == nil {
			a.inPods[r.Inode] = map[heddle.EndpointID]bool{}
		}
		a.inPods[r.Inode][r.Endpoint.ID] = true
	}
	a.setPending(r.Endpoint.ID, op)
	a.mu.Unlock()
	a.wants.count(r)
}

func (a *Agent) setPending(id heddle.EndpointID, op string) {
	if op == "" {
		delete(a.pending, id)
	} else {
		a.pending[id] = op
	}
}

func (a *Agent) erase(r record) {
	a.wants.discount(r)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.endpoints, r.Endpoint.ID)
	delete(a.pending, r.Endpoint.ID)
	delete(a.quarantine, r.Endpoint.ID)
	delete(a.inPods[r.Inode], r.Endpoint.ID)
	if len(a.inPods[r.Inode]) == 0 {
		delete(a.inPods, r.Inode)
	}
}

// pendingOf returns the operation on an endpoint that is not finished, "" if
// there is none.
func (a *Agent) pendingOf(id heddle.EndpointID) string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.pending[id]
}
