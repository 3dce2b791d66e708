package modes_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// TestConcurrent: many containers come and go at once on two networks; nothing
// fails, nothing is left, and no address is given twice.
func TestConcurrent(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		const count = 100
		w := world.New(t)
		w.Network(t, "first", mode)
		w.Network(t, "second", "bridge")
		namespaces := make([]world.Netns, count)
		for i := range namespaces {
			namespaces[i] = world.NewNetns(t, fmt.Sprint("c", i))
		}
		before := w.Host.Dump(t)
		begin := time.Now()
		var wait sync.WaitGroup
		for i, p := range namespaces {
			wait.Go(func() { comeAndGo(t, w, p, i) })
		}
		wait.Wait()
		t.Logf("%d containers in %v", count, time.Since(begin).Round(time.Millisecond))
		w.AuditEmpty(t)
		distinct(t, w.Endpoints(), count)
		for _, p := range namespaces {
			wait.Go(func() { leaveAll(t, w, p) })
		}
		wait.Wait()
		w.AuditEmpty(t)
		if err := sameLines(world.Unnumbered(before), world.Unnumbered(w.Host.Dump(t))); err != nil {
			t.Errorf("after all have left: %v", err)
		}
	})
}

// comeAndGo attaches, detaches and attaches again, on a network or two.
func comeAndGo(t *testing.T, w *world.World, p world.Netns, i int) {
	first := w.Request(p, []string{"first", "second"}[i%2], func(r *heddle.AttachRequest) {
		if i%5 == 0 {
			r.Ports = []heddle.PortMapping{{HostPort: uint16(20000 + i), ContainerPort: 80, Protocol: "tcp"}}
		}
	})
	second := w.Request(p, []string{"second", "first"}[i%2], world.As("eth1"))
	for range 1 + rand.IntN(3) {
		attach(t, w, first)
		attach(t, w, second)
		if _, err := w.Detach(ctx, second.ID); err != nil {
			t.Error(err)
		}
		if _, err := w.Detach(ctx, first.ID); err != nil {
			t.Error(err)
		}
	}
	attach(t, w, first)
}

func attach(t *testing.T, w *world.World, r heddle.AttachRequest) {
	if _, err := w.Attach(ctx, r); err != nil {
		t.Error(err)
	}
}

// leaveAll detaches, twice and in any order.
func leaveAll(t *testing.T, w *world.World, p world.Netns) {
	for _, name := range []string{"eth0", "eth1", "eth0"} {
		if _, err := w.Detach(ctx, heddle.EndpointID{Container: p.Name, IfName: name}); err != nil {
			t.Error(err)
		}
	}
}

// distinct checks that no two endpoints have an address or a MAC in common.
func distinct(t *testing.T, all []heddle.Endpoint, count int) {
	t.Helper()
	if len(all) != count {
		t.Errorf("%d endpoints, want %d", len(all), count)
	}
	seen := map[string]heddle.EndpointID{}
	for _, e := range all {
		keys := []string{string(e.MAC)}
		for _, a := range e.Addrs {
			keys = append(keys, a.String())
		}
		for _, k := range keys {
			if other, twice := seen[k]; twice {
				t.Errorf("%s and %s both have %s", e.ID, other, k)
			}
			seen[k] = e.ID
		}
	}
}
