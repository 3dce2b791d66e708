package agent

import (
	"context"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// departure is an endpoint that has left and whose removal is under way: the kernel
// takes 10 to 20 ms to forget a link (rcu_barrier(9)), for which an engine that goes
// on with something else need not wait. Nothing of it is given to anybody before.
type departure struct {
	network string
	// pod is the container's namespace, if the interface is in it: the engine may
	// take the way to it away, and it would live on without.
	pod  *kernel.Netns
	done chan struct{}
}

// Leave takes away an endpoint that was handed over, and returns once that is
// recorded and the container is cut off. What it had goes soon after: whoever wants
// an address of the network, an endpoint on it or its removal waits for that. An
// endpoint that is not there has left already.
func (a *Agent) Leave(ctx context.Context, id heddle.EndpointID) error {
	if a.departing(id) {
		return nil
	}
	r, known := a.lookup(id)
	if !known || !r.Endpoint.Handover || r.Endpoint.NIC != nil { // a NIC has to be out before its container ends
		_, err := a.Detach(ctx, id)
		return err
	}
	if err := a.acceptDetach(ctx, id); err != nil {
		return err
	}
	began := time.Now()
	unlock, done := a.ids.lock(id), a.work()
	end := func() { done(); unlock() }
	if r, known = a.lookup(id); !known {
		end()
		return nil
	}
	recorded, err := a.begin(r)
	var pod *kernel.Netns
	if err == nil {
		pod, err = a.cutOff(r)
	}
	if err != nil {
		end()
		a.metrics.observe("detach", began, &err)
		return err
	}
	d := a.depart(r, pod)
	a.finished.Go(func() {
		defer close(d.done)
		a.finishLeave(r, began)
		end()
		if r.Endpoint.DefaultRoute {
			a.passDefault(r.Inode)
		}
	})
	if !recorded { // nobody would go on with it after a crash
		<-d.done
	}
	return nil
}

// finishLeave removes what has left. What cannot be removed now keeps its record, as
// after a detach that failed: the patrol tries again.
func (a *Agent) finishLeave(r record, began time.Time) {
	err := a.end(r)
	if err == nil {
		a.releaseLeft(r.Endpoint)
	} else {
		a.log.Error("an endpoint that has left is not removed", "endpoint", r.Endpoint.ID, "error", err)
	}
	a.metrics.observe("detach", began, &err)
	a.mu.Lock()
	defer a.mu.Unlock()
	if pod := a.departures[r.Endpoint.ID].pod; pod != nil {
		pod.Close()
	}
	delete(a.departures, r.Endpoint.ID)
}

// sandbox opens the container's namespace by the engine's way to it, or, of what is
// leaving, the one that it was in.
func (a *Agent) sandbox(r record) (*kernel.Netns, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if pod := a.departures[r.Endpoint.ID].pod; pod != nil {
		return pod.Dup()
	}
	return kernel.OpenNetns(r.Request.Netns)
}

// cutOff lowers the container's end, and takes the name from it by which the engine
// would move it out of the container: that, too, would wait for the kernel. It
// returns the container's namespace, nil if the interface is not in it.
func (a *Agent) cutOff(r record) (*kernel.Netns, error) {
	where, _, pod, err := a.whereabouts(r)
	if err == nil && where == inContainer {
		if err = a.step("cut off"); err == nil {
			err = pod.Shelve(r.alias(), r.handName())
		}
	}
	if err != nil && pod != nil {
		pod.Close()
		pod = nil
	}
	return pod, err
}

func (a *Agent) depart(r record, pod *kernel.Netns) departure {
	d := departure{r.Endpoint.Network, pod, make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.departures[r.Endpoint.ID] = d
	return d
}

func (a *Agent) departing(id heddle.EndpointID) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	_, is := a.departures[id]
	return is
}

// awaitDepartures waits until what has left a network is gone: any network for "".
// The caller holds no lock.
func (a *Agent) awaitDepartures(network string) {
	a.mu.RLock()
	var all []departure
	for _, d := range a.departures {
		if network == "" || d.network == network {
			all = append(all, d)
		}
	}
	a.mu.RUnlock()
	for _, d := range all {
		<-d.done
	}
}

// releaseLeft ends the leases that were given back while their endpoint was leaving.
func (a *Agent) releaseLeft(e heddle.Endpoint) {
	a.leaseOps.Lock()
	defer a.leaseOps.Unlock()
	for _, l := range a.leases {
		for _, p := range e.Addrs {
			if l.Addr != p || !l.Released || a.leaseUsed(l, a.addressesInUse()) {
				continue
			}
			if err := a.endLease(l); err != nil {
				a.log.Error("an address is not given back", "address", l.Addr, "error", err)
			}
		}
	}
}
