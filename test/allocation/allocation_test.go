// Package allocation_test has agents of several hosts allocate addresses while
// everything goes wrong, and checks that no address ever had two holders and none
// was lost.
package allocation_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
)

// seed is HEDDLE_SEED, or another one each time.
func seed(t *testing.T) uint64 {
	s := uint64(time.Now().UnixNano())
	if text := os.Getenv("HEDDLE_SEED"); text != "" {
		var err error
		s, err = strconv.ParseUint(text, 10, 64)
		cell.Must(t, err)
	}
	t.Logf("HEDDLE_SEED=%d", s)
	return s
}

// TestAllocation runs for HEDDLE_ALLOCATION (a duration), one minute if it is not set.
func TestAllocation(t *testing.T) {
	soak.Turn(t, 2)
	long := time.Minute
	if text := os.Getenv("HEDDLE_ALLOCATION"); text != "" {
		var err error
		long, err = time.ParseDuration(text)
		cell.Must(t, err)
	}
	w := newWorld(t, seed(t), 5, flaws{})
	end := time.Now().Add(long)
	w.run(4*time.Millisecond, func(int) bool { return time.Now().After(end) })
	w.verify()
}

// TestSoakAllocation makes a million allocations.
func TestSoakAllocation(t *testing.T) {
	soak.Need(t, "takes an hour")
	w := newWorld(t, seed(t), 5, flaws{})
	end := time.Now().Add(2 * time.Hour)
	w.run(time.Millisecond, func(takes int) bool { return takes >= 1_000_000 || time.Now().After(end) })
	w.verify()
	if takes, _ := w.history.count(); takes < 1_000_000 {
		t.Errorf("only %d allocations", takes)
	}
}

// run has all hosts work under faults until enough says so, or an address had two
// holders.
func (w *world) run(pace time.Duration, enough func(takes int) bool) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, h := range w.hosts {
		for range 2 {
			group.Go(func() { w.work(ctx, h, pace) })
		}
	}
	group.Go(func() { w.trouble(ctx) })
	for {
		time.Sleep(50 * time.Millisecond)
		if takes, breaches := w.history.count(); len(breaches) > 0 || enough(takes) {
			break
		}
	}
	cancel()
	group.Wait()
	w.heal()
}

// verify checks the history, that nothing is left when all is given back, and that
// every address can be had again then.
func (w *world) verify() {
	t := w.t
	w.empty("after the faults")
	for _, n := range w.networks {
		w.exhaust(n)
	}
	w.empty("after all addresses were taken once more")
	takes, breaches := w.history.count()
	for _, b := range breaches {
		t.Error(b)
	}
	if !w.history.accepted(t) {
		t.Error("porcupine rejects the history")
	}
	t.Logf("%d allocations on %d addresses, %d steps checked; %v", takes, len(w.histories()), len(w.history.steps), w.counts)
	if takes == 0 || w.counts["kills"]+w.counts["partitions"]+w.counts["pauses"] == 0 {
		t.Error("nothing happened")
	}
}

func (w *world) histories() map[string]bool {
	all := map[string]bool{}
	for _, o := range w.history.steps {
		all[o.Input.(step).addr] = true
	}
	return all
}

// empty gives everything back and waits until the store has nothing of it.
func (w *world) empty(when string) {
	var left []string
	poll.Until(5*time.Minute, 100*time.Millisecond, poll.True(func() bool {
		for _, h := range w.hosts {
			a := h.current()
			for id, have := h.any(); have > 0; id, have = h.any() {
				_, err := a.give(id, false)
				cell.Must(w.t, err)
			}
			a.tidy(soon(w.t), true)
		}
		left = w.left()
		return len(left) == 0
	}))
	if len(left) > 0 {
		w.t.Errorf("%s these are left: %v", when, left)
	}
}

// left lists the keys of addresses in the store.
func (w *world) left() (keys []string) {
	s, err := w.operator.Read(soon(w.t), cluster.Prefix)
	cell.Must(w.t, err)
	for _, e := range s.Entries {
		if strings.Contains(e.Key, "/blocks/") || strings.Contains(e.Key, "/pins/") || strings.Contains(e.Key, "/wants/") || strings.Contains(e.Key, "/answers/") {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// patiently does it again while the store is away: its members may be electing on a
// busy machine.
func (w *world) patiently(do func() error) error {
	_, err := poll.Until(5*time.Minute, 100*time.Millisecond, func() error {
		err := do()
		if errors.Is(err, heddle.StoreDown.Sentinel()) {
			return err
		}
		return poll.Final(err)
	})
	return err
}

// exhaust takes every address of a network, on all hosts in turn.
func (w *world) exhaust(n heddle.Network) {
	got := map[netip.Addr]bool{}
	full := map[*host]bool{}
	for len(full) < len(w.hosts) {
		for _, h := range w.hosts {
			if full[h] {
				continue
			}
			id := h.newID()
			err := w.patiently(func() error { return h.current().take(soon(w.t), n, netip.Addr{}, id) })
			if errors.Is(err, heddle.PoolExhausted.Sentinel()) {
				full[h] = true
				continue
			}
			cell.Must(w.t, err)
			h.mu.Lock()
			got[h.leases[id].addr] = true
			h.mu.Unlock()
		}
	}
	var lost []string
	for i, a := 0, n.Subnets[0].Addr(); i < 256; i, a = i+1, a.Next() {
		first, last, gateway := i == 0, i == 255 && a.Is4(), slices.Contains(n.Gateways, a)
		if !got[a] && !first && !last && !gateway {
			lost = append(lost, a.String())
		}
	}
	if len(lost) > 0 {
		w.t.Errorf("of network %s these addresses are lost: %v", n.Name, lost)
	}
}
