package agent

import (
	"context"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// removal is the removal of an endpoint that was handed over. Its engine first takes the interface
// out of the container. Meanwhile nothing else should hold the kernel's lock. Then the kernel
// takes 10 to 20 ms to remove a link (rcu_barrier(9)), for which the engine need not wait. The
// endpoint's addresses and other resources are free only when the removal is done.
type removal struct {
	network string
	// pod is the container's namespace, if the interface was in it: the engine may remove
	// the path to a namespace that stays alive.
	pod kernel.Pod
	// containerAlive says that the container is alive: the engine must find the interface where it
	// has put it, or it keeps it in its records.
	containerAlive bool
	// started is closed by start, when the removal begins. done is closed when it ends.
	started, done chan struct{}
	start         func()
}

const (
	// engineLimit is how long an engine may take to say that it has finished with an endpoint. An
	// engine that was killed never says so.
	engineLimit = 5 * time.Second
	// engineWait is how long others wait for the engine to finish.
	engineWait = time.Second
)

// Leave removes an endpoint that was handed over. It returns once the removal is recorded and the
// container is cut off. The rest is removed when the engine has finished with it (LeaveNow), or
// soon afterwards. Callers who want an address of the network, attach to it or delete it wait for
// that. Leave succeeds if there is no such endpoint.
func (a *Agent) Leave(ctx context.Context, id heddle.EndpointID) error {
	if a.removals.has(id) {
		return nil
	}
	r, known := a.records.get(id)
	if !known || !r.Endpoint.Handover || r.Endpoint.NIC != nil { // a NIC has to come back before its container ends
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
		case <-d.started:
		case <-time.After(engineLimit):
		}
		a.finishLeave(id)
		if r.Endpoint.DefaultRoute {
			a.defaults.pass(r.Inode)
		}
	})
	if !recorded { // nobody would continue it after a crash
		d.start()
		<-d.done
	}
	return nil
}

// LeaveNow is Leave for an endpoint that its engine has finished with. It is removed at once.
func (a *Agent) LeaveNow(ctx context.Context, id heddle.EndpointID) error {
	err := a.Leave(ctx, id)
	a.removals.start(id)
	return err
}

// beginLeave records that an endpoint is being removed, and cuts its container off. It returns no
// removal if the endpoint is gone meanwhile.
func (a *Agent) beginLeave(id heddle.EndpointID) (d *removal, recorded bool, err error) {
	defer a.endpointLocks.Lock(id)()
	defer a.activity.begin()()
	r, known := a.records.get(id)
	if !known || a.removals.has(id) {
		return nil, true, nil
	}
	if recorded, err = a.beginRemoval(r); err != nil {
		return nil, false, err
	}
	d = &removal{network: r.Endpoint.Network, started: make(chan struct{}), done: make(chan struct{})}
	d.start = sync.OnceFunc(func() { close(d.started) })
	if err := a.cutOff(r, d); err != nil {
		return nil, false, err
	}
	a.removals.begin(id, d)
	return d, recorded, nil
}

// finishLeave removes the endpoint, unless somebody else has. If that fails, the endpoint keeps
// its record, as after a detach that failed, and the patrol tries again.
func (a *Agent) finishLeave(id heddle.EndpointID) {
	began := time.Now()
	defer a.endpointLocks.Lock(id)()
	defer a.activity.begin()()
	var err error
	if r, known := a.records.get(id); known && a.records.pendingOf(id) == intentDetach {
		if err = a.endRemoval(r); err == nil {
			a.reservations.endReleasedLeases(r.Endpoint)
		} else {
			a.log.Error("an endpoint that has left is not removed", "endpoint", id, "error", err)
		}
	}
	a.metrics.observe("detach", began, &err)
	a.removals.end(id)
}

// cutOff sets the container's end down. If the container has ended, cutOff also renames that end,
// so that the engine cannot move it out: the move would wait for the kernel and help nobody. While
// the container lives, the engine may move it out: otherwise the engine would still show the
// interface and read its counters.
func (a *Agent) cutOff(r record, d *removal) error {
	where, seen, pod, err := a.containers.locate(r)
	if where != inContainer {
		d.start() // its engine has nothing to do for this
	} else if err == nil {
		if err = a.trip.step("cut off"); err == nil {
			aside := r.handoverName()
			if d.containerAlive = pod.Inhabited(); d.containerAlive {
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

// endReleasedLeases ends the leases that were given back while their endpoint was being removed.
func (k *reservations) endReleasedLeases(e heddle.Endpoint) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.leases {
		for _, p := range e.Addrs {
			if l.Addr != p || !l.Released || k.leaseUsed(l, k.records.addresses()) {
				continue
			}
			if err := k.endLeaseLocked(l); err != nil {
				k.log.Error("an address is not given back", "address", l.Addr, "error", err)
			}
		}
	}
}
