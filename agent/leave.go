package agent

import (
	"context"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// departure is an endpoint that has left and is about to be removed. Its engine first takes
// the interface out of the container: meanwhile nothing else should hold the kernel's lock.
// Then the kernel takes 10 to 20 ms to remove a link (rcu_barrier(9)); the engine need not
// wait for that. The endpoint's addresses and other resources are given to nobody before
// the removal is done.
type departure struct {
	network string
	// pod is the container's namespace, if the interface was in it: the engine may remove
	// the path to a namespace that stays alive.
	pod kernel.Pod
	// awaited says that the container is still alive: the engine has to find the interface
	// where it has put it, or else keeps it in its records.
	awaited bool
	// goes is closed by hurry: the removal begins. It ends with done.
	goes, done chan struct{}
	hurry      func()
}

const (
	// engineTime is how long an engine may take to say that it has finished with an
	// endpoint: an engine that was killed never says so.
	engineTime = 5 * time.Second
	// engineShare is how long others wait for an engine's part.
	engineShare = time.Second
)

// Leave removes an endpoint that was handed over. It returns once the removal is recorded
// and the container is cut off. The rest is removed when the engine has finished with it
// (Forgo), or soon afterwards. Callers who want an address of the network, an endpoint on it
// or its removal wait for that. Leave succeeds if there is no such endpoint.
func (a *Agent) Leave(ctx context.Context, id heddle.EndpointID) error {
	if a.departures.has(id) {
		return nil
	}
	r, known := a.roll.get(id)
	if !known || !r.Endpoint.Handover || r.Endpoint.NIC != nil { // a NIC has to be out before its container ends
		_, err := a.Detach(ctx, id)
		return err
	}
	if err := a.acceptDetach(ctx, id); err != nil {
		return err
	}
	began := time.Now()
	d, recorded, err := a.beginLeave(id)
	if err != nil {
		a.metrics.observe("detach", began, &err)
	}
	if err != nil || d == nil {
		return err
	}
	a.finished.Go(func() {
		defer close(d.done)
		select {
		case <-d.goes:
		case <-time.After(engineTime):
		}
		a.finishLeave(id)
		if r.Endpoint.DefaultRoute {
			a.defaults.pass(r.Inode)
		}
	})
	if !recorded { // nobody would go on with it after a crash
		d.hurry()
		<-d.done
	}
	return nil
}

// Forgo is Leave for an endpoint that its engine has finished with: it is removed at once.
func (a *Agent) Forgo(ctx context.Context, id heddle.EndpointID) error {
	err := a.Leave(ctx, id)
	a.departures.hurry(id)
	return err
}

// beginLeave records that an endpoint is going, and cuts its container off; there is
// no departure of one that has left meanwhile.
func (a *Agent) beginLeave(id heddle.EndpointID) (d *departure, recorded bool, err error) {
	defer a.ids.Lock(id)()
	defer a.activity.begin()()
	r, known := a.roll.get(id)
	if !known || a.departures.has(id) {
		return nil, true, nil
	}
	if recorded, err = a.begin(r); err != nil {
		return nil, false, err
	}
	d = &departure{network: r.Endpoint.Network, goes: make(chan struct{}), done: make(chan struct{})}
	d.hurry = sync.OnceFunc(func() { close(d.goes) })
	if err := a.cutOff(r, d); err != nil {
		return nil, false, err
	}
	a.departures.begin(id, d)
	return d, recorded, nil
}

// finishLeave removes what has left, unless somebody did meanwhile. What cannot be
// removed now keeps its record, as after a detach that failed: the patrol tries again.
func (a *Agent) finishLeave(id heddle.EndpointID) {
	began := time.Now()
	defer a.ids.Lock(id)()
	defer a.activity.begin()()
	var err error
	if r, known := a.roll.get(id); known && a.roll.pendingOf(id) == intentDetach {
		if err = a.end(r); err == nil {
			a.books.releaseLeft(r.Endpoint)
		} else {
			a.log.Error("an endpoint that has left is not removed", "endpoint", id, "error", err)
		}
	}
	a.metrics.observe("detach", began, &err)
	a.departures.end(id)
}

// cutOff sets the container's end down. If the container is gone, cutOff also renames that
// end, so that the engine cannot move it out: the move would wait for the kernel and help
// nobody. While the container lives, the engine may move it out: otherwise the engine would
// go on showing the interface and reading its counters.
func (a *Agent) cutOff(r record, d *departure) error {
	where, seen, pod, err := a.containers.whereabouts(r)
	if where != inContainer {
		d.hurry() // its engine has no part in this
	} else if err == nil {
		if err = a.trip.step("cut off"); err == nil {
			aside := r.handName()
			if d.awaited = pod.Inhabited(); d.awaited {
				aside = ""
			}
			err = pod.Shelve(seen, aside)
		}
	}
	if err != nil && pod != nil {
		pod.Close()
		return err
	}
	d.pod = pod
	return err
}

// releaseLeft ends the leases that were given back while their endpoint was leaving.
func (k *books) releaseLeft(e heddle.Endpoint) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.leases {
		for _, p := range e.Addrs {
			if l.Addr != p || !l.Released || k.leaseUsed(l, k.roll.addresses()) {
				continue
			}
			if err := k.endLeaseLocked(l); err != nil {
				k.log.Error("an address is not given back", "address", l.Addr, "error", err)
			}
		}
	}
}
