package agent

import (
	"context"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// removals are the endpoints that Leave is removing.
type removals struct {
	namespaces Namespaces

	mu   rwMutex[atRemovals]
	byID map[heddle.EndpointID]*removal
}

func newRemovals() *removals { return &removals{byID: map[heddle.EndpointID]*removal{}} }

func (d *removals) begin(id heddle.EndpointID, one *removal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.byID[id] = one
}

func (d *removals) end(id heddle.EndpointID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if pod := d.byID[id].pod; pod != nil {
		pod.Close()
	}
	delete(d.byID, id)
}

func (d *removals) has(id heddle.EndpointID) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.byID[id] != nil
}

// start starts the endpoint's removal now, if Leave was called for it.
func (d *removals) start(id heddle.EndpointID) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if one := d.byID[id]; one != nil {
		one.start()
	}
}

// startAll starts all removals: the agent is stopping.
func (d *removals) startAll() {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, one := range d.byID {
		one.start()
	}
}

// openNamespace opens the container's namespace by the engine's path. For an endpoint that is
// being removed, it returns the namespace in which the endpoint was, if that was kept.
func (d *removals) openNamespace(r record) (kernel.Pod, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if one := d.byID[r.Endpoint.ID]; one != nil && one.pod != nil {
		return d.namespaces.DupPod(one.pod)
	}
	return d.namespaces.OpenPod(r.Request.Netns)
}

// await waits until all removals from a network are done; "" means all networks. Whoever holds a lock
// may not call it, for a removal may want that one.
func (d *removals) await(network string) {
	d.mu.RLock()
	var all []*removal
	for _, one := range d.byID {
		if network == "" || one.network == network {
			all = append(all, one)
		}
	}
	d.mu.RUnlock()
	patience, enough := context.WithTimeout(context.Background(), engineWait)
	defer enough()
	for _, one := range all {
		if one.containerAlive {
			select {
			case <-one.started:
			case <-patience.Done():
			}
		}
		one.start()
	}
	for _, one := range all {
		<-one.done
	}
}
