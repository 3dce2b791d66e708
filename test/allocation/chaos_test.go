package allocation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/poll"
)

// work has a host's agent take, give, move and yield, until ctx ends.
func (w *world) work(ctx context.Context, h *host, pace time.Duration) {
	for ctx.Err() == nil {
		w.busy.RLock()
		if a := h.current(); a != nil {
			w.oneStep(ctx, h, a)
		}
		w.busy.RUnlock()
		select {
		case <-time.After(pace):
		case <-ctx.Done():
		}
	}
}

func (w *world) oneStep(ctx context.Context, h *host, a *agent) {
	ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
	defer cancel()
	n := w.networks[rand.IntN(len(w.networks))]
	id, have := h.any()
	switch dice := rand.IntN(1000); {
	case dice < 30:
		_ = a.take(ctx, n, someAddr(n), h.newID())
	case dice < 45 && have > 0:
		to := w.hosts[rand.IntN(len(w.hosts))]
		if to != h {
			a.move(ctx, id, to.name)
		}
	case dice < 60:
		for _, m := range a.cluster.View().Moves {
			_ = a.take(ctx, w.network(m.Network), m.Addr, m.Endpoint)
		}
	case dice < 70:
		a.tidy(ctx, false)
	case dice < 500+10*(20-have):
		_ = a.take(ctx, n, netip.Addr{}, h.newID())
	case have > 0:
		_, _ = a.give(id, false)
	}
}

// someAddr draws an address that an endpoint can have.
func someAddr(n heddle.Network) netip.Addr {
	b := n.Subnets[0].Addr().AsSlice()
	b[len(b)-1] = byte(2 + rand.IntN(253))
	a, _ := netip.AddrFromSlice(b)
	return a
}

// trouble is one fault after the other, by the seed, until ctx ends; then all is
// healed.
func (w *world) trouble(ctx context.Context) {
	for ctx.Err() == nil {
		w.fault(ctx)
		sleep(ctx, time.Duration(50+w.random.IntN(250))*time.Millisecond)
	}
	w.heal()
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (w *world) fault(ctx context.Context) {
	h := w.hosts[w.random.IntN(len(w.hosts))]
	long := time.Duration(100+w.random.IntN(900)) * time.Millisecond
	switch dice := w.random.IntN(100); {
	case dice < 30:
		w.cut(ctx, h, long)
	case dice < 55:
		w.pause(ctx, h, long)
	case dice < 85:
		w.counts["kills"]++
		h.kill()
		sleep(ctx, long/4)
		w.revive(h)
	case dice < 91:
		w.restart(ctx, 1, long)
	case dice < 94:
		w.restart(ctx, 2, 2*long) // no quorum
	default:
		w.remove(ctx, h)
	}
}

// cut parts a host from some members, in one way or both.
func (w *world) cut(ctx context.Context, h *host, long time.Duration) {
	w.counts["partitions"]++
	all, way := w.random.IntN(2) == 0, w.random.IntN(3)
	for _, r := range h.relays {
		if all || w.random.IntN(2) == 0 {
			r.cut(way != 1, way != 2)
		}
	}
	sleep(ctx, 2*long)
	for _, r := range h.relays {
		r.heal()
	}
}

// pause stops an agent as SIGSTOP does, now and then while it is killed or cut
// off by others.
func (w *world) pause(ctx context.Context, h *host, long time.Duration) {
	w.counts["pauses"]++
	a := h.current()
	a.gate.pause()
	sleep(ctx, long)
	a.gate.resume()
}

// restart stops members of the store and starts them again.
func (w *world) restart(ctx context.Context, count int, long time.Duration) {
	w.counts["members stopped"] += count
	first := w.random.IntN(len(w.members))
	for i := range count {
		w.members[(first+i)%len(w.members)].server.Close()
	}
	sleep(ctx, long)
	for i := range count {
		m := w.members[(first+i)%len(w.members)]
		if err := m.start(); err != nil {
			w.t.Errorf("member %s does not start again: %v", m.options.Name, err)
		}
	}
}

// remove has an operator take a host out that is gone for good, and another one
// joins under its name. Some are only asleep: they wake up when they are removed.
func (w *world) remove(ctx context.Context, h *host) {
	var other *agent
	for _, o := range w.hosts {
		if o != h {
			other = o.current()
		}
	}
	a := h.current()
	a.gate.pause()
	h.mu.Lock()
	h.removed = true // whatever it has is nobody's any more
	for id, l := range h.leases {
		w.history.record(h.number, w.history.now(), step{l.network + l.addr.String(), h.name + "/" + id.Container, false})
		delete(h.leases, id)
	}
	h.mu.Unlock()
	limit, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	_, err := poll.Until(3*time.Minute, 20*time.Millisecond, func() error { return other.cluster.RemoveHost(limit, w.operator, h.name, true) })
	if err != nil {
		w.t.Errorf("host %s is not removed: %v", h.name, err)
	}
	w.counts["hosts removed"]++
	a.gate.resume()
	sleep(ctx, 100*time.Millisecond)
	h.kill()
	h.mu.Lock()
	h.removed = false
	h.dir = filepath.Join(w.dir, fmt.Sprint("anew", w.counts["hosts removed"]), h.name)
	h.mu.Unlock()
	w.revive(h)
}

// heal makes everything as it should be.
func (w *world) heal() {
	for _, h := range w.hosts {
		for _, r := range h.relays {
			r.heal()
		}
		if a := h.current(); a != nil {
			a.gate.resume()
		}
	}
}
