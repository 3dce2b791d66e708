package agent

import (
	"log/slog"
	"net/netip"
	"slices"
	"sync"

	"github.com/heddle-network/heddle"
)

// oldFlows are the addresses of removed endpoints whose connections the host is about to forget.
// Addresses that are added while a batch is under way go into the next batch.
type oldFlows struct {
	mu            mutex[atOldFlows]
	next, current *flowBatch
	// stuck are the addresses for which this failed, and that no endpoint has got since.
	stuck map[netip.Addr]bool
}

type flowBatch struct {
	addrs []netip.Addr
	done  chan struct{}
}

// add puts addresses into the next batch, and reports whether the batch is a new one.
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

// keep notes that the connections of a batch could not be forgotten.
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

// takeStuck removes the endpoint's addresses from stuck, and returns them: from now on,
// connections of these addresses may be the endpoint's own.
func (o *oldFlows) takeStuck(e heddle.Endpoint) (all []netip.Addr) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range e.AllAddrs() {
		if o.stuck[p.Addr()] {
			all = append(all, p.Addr())
			delete(o.stuck, p.Addr())
		}
	}
	return all
}

// await waits until the batches with the endpoint's addresses are done.
func (o *oldFlows) await(e heddle.Endpoint) {
	has := func(b *flowBatch) bool {
		return b != nil && slices.ContainsFunc(e.AllAddrs(), func(p netip.Prefix) bool { return slices.Contains(b.addrs, p.Addr()) })
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

// flows makes the host forget the connections of endpoints that are gone.
type flows struct {
	kernel  Connections
	log     *slog.Logger
	records *records
	ports   *ports
	// background counts the goroutines that do this.
	background *sync.WaitGroup
	// listing is held while all connections of the host are listed.
	listing mutex[atFlowListing]
	old     oldFlows
}

// forgetAddresses makes the host forget, in the background, the connections of addresses whose
// endpoints are gone. An endpoint that gets one of the addresses waits for this (waitForgotten).
// If it fails twice, it is logged, and tried again when an endpoint waits.
func (w *flows) forgetAddresses(addrs ...netip.Addr) {
	if !w.old.add(addrs) {
		return
	}
	w.background.Go(func() {
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
			w.log.Warn("connections of addresses that were freed not forgotten",
				"addresses", len(b.addrs), "error", err)
		}
	})
}

// waitForgotten waits until the host has forgotten all connections of previous endpoints with
// these addresses, or the kernel has refused this once more.
func (w *flows) waitForgotten(e heddle.Endpoint) {
	w.old.await(e)
	if stuck := w.old.takeStuck(e); len(stuck) > 0 {
		w.forgetAddresses(stuck...)
		w.old.await(e)
		w.old.takeStuck(e)
	}
}

// forgetEndpoint calls forgetAddresses for an endpoint's addresses.
func (w *flows) forgetEndpoint(e heddle.Endpoint) {
	for _, p := range e.AllAddrs() {
		w.forgetAddresses(p.Addr())
	}
}

// forgetFlows forgets old connections to published ports, so that clients reach the endpoint that
// has the ports now. The endpoints are already made or removed. It works in the background,
// because listing many connections takes long. A failure is only logged.
func (w *flows) forgetFlows(of ...heddle.Endpoint) {
	of = slices.DeleteFunc(of, func(e heddle.Endpoint) bool { return len(e.Ports) == 0 })
	if len(of) == 0 {
		return
	}
	w.background.Go(func() {
		w.listing.Lock()
		defer w.listing.Unlock()
		for _, e := range of {
			if err := w.kernel.ForgetFlows(e, w.publishedTo); err != nil {
				w.log.Warn("old connections not forgotten", "endpoint", e.ID, "error", err)
			}
		}
	})
}

// publishedTo reports whether a port of the host, on any of its addresses, is now published as
// the container's port at the given address.
func (w *flows) publishedTo(p heddle.PortMapping, to netip.Addr) bool {
	return slices.ContainsFunc(w.ports.on(p), func(q published) bool {
		r, _ := w.records.get(q.by)
		has := func(of netip.Prefix) bool { return of.Addr() == to }
		return q.ContainerPort == p.ContainerPort && slices.ContainsFunc(r.Endpoint.Addrs, has)
	})
}

// forgetShadows ends masqueraded connections that use ports of the host on which a program now
// listens.
func (w *flows) forgetShadows(newly []heddle.Socket) error {
	w.listing.Lock()
	defer w.listing.Unlock()
	return w.kernel.ForgetShadows(newly)
}

// forgetPrefixes makes the host forget the connections with an end in prefixes that lead elsewhere
// now. It returns when that is done: until then a connection goes on where it was never allowed.
func (w *flows) forgetPrefixes(of, stay []netip.Prefix) error {
	if len(of) == 0 {
		return nil
	}
	w.listing.Lock()
	defer w.listing.Unlock()
	return w.kernel.ForgetPrefixes(of, stay)
}
