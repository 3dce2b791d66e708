package agent

import (
	"log/slog"
	"net/netip"
	"slices"
	"sync"

	"github.com/heddle-network/heddle"
)

// oldFlows are the addresses of endpoints that are gone, whose connections the host
// is about to forget: all that came together since the last look at them.
type oldFlows struct {
	mu            mutex[atOldFlows]
	next, current *flowBatch
	// stuck are those of which that has failed, and that no endpoint has got since.
	stuck map[netip.Addr]bool
}

type flowBatch struct {
	addrs []netip.Addr
	done  chan struct{}
}

// add takes addresses into the next batch, and reports whether it is a new one.
func (o *oldFlows) add(addrs []netip.Addr) (begun bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(addrs) == 0 {
		return false
	}
	if begun = o.next == nil; begun {
		o.next = &flowBatch{done: make(chan struct{})}
	}
	o.next.addrs = append(o.next.addrs, addrs...)
	return begun
}

// take makes the next batch the current one.
func (o *oldFlows) take() *flowBatch {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.current, o.next = o.next, nil
	return o.current
}

// keep notes that the connections of a batch are not forgotten.
func (o *oldFlows) keep(b *flowBatch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stuck == nil {
		o.stuck = map[netip.Addr]bool{}
	}
	for _, addr := range b.addrs {
		o.stuck[addr] = true
	}
}

// takeStuck takes out those of the endpoint's addresses whose connections are not
// forgotten: from now on its own may be among them.
func (o *oldFlows) takeStuck(e heddle.Endpoint) (all []netip.Addr) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range e.Addrs {
		if o.stuck[p.Addr()] {
			all = append(all, p.Addr())
			delete(o.stuck, p.Addr())
		}
	}
	return all
}

// await waits until what was begun about the endpoint's addresses is done.
func (o *oldFlows) await(e heddle.Endpoint) {
	has := func(b *flowBatch) bool {
		return b != nil && slices.ContainsFunc(e.Addrs, func(p netip.Prefix) bool { return slices.Contains(b.addrs, p.Addr()) })
	}
	var done []chan struct{}
	o.mu.Lock()
	for _, b := range []*flowBatch{o.current, o.next} {
		if has(b) {
			done = append(done, b.done)
		}
	}
	o.mu.Unlock()
	for _, d := range done {
		<-d
	}
}

// flows are the host's connections, which it is to forget when they are an endpoint's that
// is gone.
type flows struct {
	kernel Connections
	log    *slog.Logger
	roll   *roll
	ports  *ports
	// behind counts the goroutines that forget behind whoever called.
	behind *sync.WaitGroup
	// listing lets one look at all connections of the host at a time.
	listing mutex[atForgetting]
	old     oldFlows
}

// forgetAddresses has the host forget the connections of addresses whose endpoints
// are gone, behind whoever called: an endpoint that gets one of them waits for it
// (awaitForgotten). What has failed twice is told, and tried again then.
func (w *flows) forgetAddresses(addrs ...netip.Addr) {
	if !w.old.add(addrs) {
		return
	}
	w.behind.Go(func() {
		w.listing.Lock()
		defer w.listing.Unlock()
		b := w.old.take()
		defer close(b.done)
		err := w.kernel.ForgetAddresses(b.addrs)
		if err != nil {
			err = w.kernel.ForgetAddresses(b.addrs)
		}
		if err != nil {
			w.old.keep(b)
			w.log.Warn("connections of addresses that were freed not forgotten", "addresses", len(b.addrs), "error", err)
		}
	})
}

// awaitForgotten waits until no connection of the endpoint's addresses is a former
// owner's, or the kernel has refused once more to forget them.
func (w *flows) awaitForgotten(e heddle.Endpoint) {
	w.old.await(e)
	if stuck := w.old.takeStuck(e); len(stuck) > 0 {
		w.forgetAddresses(stuck...)
		w.old.await(e)
		w.old.takeStuck(e)
	}
}

// forgetEndpoint is forgetAddresses of an endpoint's.
func (w *flows) forgetEndpoint(e heddle.Endpoint) {
	for _, p := range e.Addrs {
		w.forgetAddresses(p.Addr())
	}
}

// forgetFlows lets clients of published ports find the endpoint that has them now. The
// endpoints are made or gone by then, and a host with many connections takes long to
// list them: that is done behind whoever called, and a failure is only told.
func (w *flows) forgetFlows(of ...heddle.Endpoint) {
	of = slices.DeleteFunc(of, func(e heddle.Endpoint) bool { return len(e.Ports) == 0 })
	if len(of) == 0 {
		return
	}
	w.behind.Go(func() {
		w.listing.Lock()
		defer w.listing.Unlock()
		for _, e := range of {
			if err := w.kernel.ForgetFlows(e, w.leads); err != nil {
				w.log.Warn("old connections not forgotten", "endpoint", e.ID, "error", err)
			}
		}
	})
}

// leads reports whether a port of the host is published now, on whichever address of
// it, as the container's port at an address.
func (w *flows) leads(p heddle.PortMapping, to netip.Addr) bool {
	return slices.ContainsFunc(w.ports.of(p), func(q published) bool {
		r, _ := w.roll.get(q.by)
		has := func(of netip.Prefix) bool { return of.Addr() == to }
		return q.ContainerPort == p.ContainerPort && slices.ContainsFunc(r.Endpoint.Addrs, has)
	})
}

// forgetShadows ends what left by ports of the host on which somebody listens since.
func (w *flows) forgetShadows(newly []heddle.Socket) error {
	w.listing.Lock()
	defer w.listing.Unlock()
	return w.kernel.ForgetShadows(newly)
}
