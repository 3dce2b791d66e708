package agent

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// portTable says who publishes what on the host, by protocol and port.
type portTable map[string][]published

type published struct {
	heddle.PortMapping
	by heddle.EndpointID
}

func portKey(p heddle.PortMapping) string { return fmt.Sprintf("%s/%d", p.Protocol, p.HostPort) }

// reserve takes all the ports or, if another endpoint has one, none.
func (t portTable) reserve(id heddle.EndpointID, ports []heddle.PortMapping) error {
	for _, p := range ports {
		for _, q := range t[portKey(p)] {
			if q.by != id && collide(p, q.PortMapping) {
				return heddle.Errorf(heddle.PortTaken, "port "+p.String(), "published by endpoint "+q.by.String(), "choose another host port")
			}
		}
	}
	for _, p := range ports {
		t[portKey(p)] = append(t[portKey(p)], published{p, id})
	}
	return nil
}

func (t portTable) free(id heddle.EndpointID, ports []heddle.PortMapping) {
	for _, p := range ports {
		left := slices.DeleteFunc(t[portKey(p)], func(q published) bool { return q.by == id })
		if t[portKey(p)] = left; len(left) == 0 {
			delete(t, portKey(p))
		}
	}
}

// collide reports whether two mappings want the same port of the host.
func collide(p, q heddle.PortMapping) bool {
	covers := func(a, b netip.Addr) bool {
		return !a.IsValid() || a == b || a.IsUnspecified() && heddle.FamilyOf(a) == heddle.FamilyOf(b)
	}
	return p.Protocol == q.Protocol && p.HostPort == q.HostPort && (covers(p.HostIP, q.HostIP) || covers(q.HostIP, p.HostIP))
}

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
	a.want(r)
}

func (a *Agent) setPending(id heddle.EndpointID, op string) {
	if op == "" {
		delete(a.pending, id)
	} else {
		a.pending[id] = op
	}
}

func (a *Agent) want(r record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.counted[r.Endpoint.ID] {
		a.counted[r.Endpoint.ID] = true
		a.wanted.add(r.Plan.Host)
	}
}

func (a *Agent) unwant(r record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counted[r.Endpoint.ID] {
		delete(a.counted, r.Endpoint.ID)
		a.wanted.remove(r.Plan.Host)
	}
}

func (a *Agent) erase(r record) {
	a.unwant(r)
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

func (a *Agent) isWanted(key string) bool { return a.wantedBy(key) > 0 }

// wantedBy counts the plans that want an object.
func (a *Agent) wantedBy(key string) int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.wanted[key]
}
