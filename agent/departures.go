package agent

import (
	"context"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// departures are the endpoints that Leave is about to remove.
type departures struct {
	namespaces Namespaces

	mu  rwMutex[atDepartures]
	all map[heddle.EndpointID]*departure
}

func newDepartures() *departures { return &departures{all: map[heddle.EndpointID]*departure{}} }

func (d *departures) begin(id heddle.EndpointID, one *departure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all[id] = one
}

func (d *departures) end(id heddle.EndpointID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if pod := d.all[id].pod; pod != nil {
		pod.Close()
	}
	delete(d.all, id)
}

func (d *departures) has(id heddle.EndpointID) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.all[id] != nil
}

// hurry starts the removal of the endpoint now, if it has left.
func (d *departures) hurry(id heddle.EndpointID) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if one := d.all[id]; one != nil {
		one.hurry()
	}
}

// hurryAll starts the removal of all endpoints that have left: the agent is stopping.
func (d *departures) hurryAll() {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, one := range d.all {
		one.hurry()
	}
}

// sandbox opens the container's namespace by the engine's path. For an endpoint that is
// leaving, it returns the namespace that the endpoint was in, if that was kept.
func (d *departures) sandbox(r record) (kernel.Pod, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if one := d.all[r.Endpoint.ID]; one != nil && one.pod != nil {
		return d.namespaces.DupPod(one.pod)
	}
	return d.namespaces.OpenPod(r.Request.Netns)
}

// await waits until the endpoints that have left a network are removed; "" means all
// networks. The caller holds no lock.
func (d *departures) await(network string) {
	d.mu.RLock()
	var all []*departure
	for _, one := range d.all {
		if network == "" || one.network == network {
			all = append(all, one)
		}
	}
	d.mu.RUnlock()
	patience, enough := context.WithTimeout(context.Background(), engineShare)
	defer enough()
	for _, one := range all {
		if one.awaited {
			select {
			case <-one.goes:
			case <-patience.Done():
			}
		}
		one.hurry()
	}
	for _, one := range all {
		<-one.done
	}
}
