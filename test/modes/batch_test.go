package modes_test

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// batchOf makes namespaces, and asks for a batch with an endpoint in each.
func batchOf(t *testing.T, w *world.World, network string, count int) (batch []heddle.AttachRequest) {
	t.Helper()
	for i := range count {
		batch = append(batch, w.Request(world.NewNetns(t, fmt.Sprint("c", i)), network))
	}
	return batch
}

// TestBatch: of a batch, each endpoint is attached or refused by itself. Those of one container are attached in
// their order. Called again, it leaves what is there.
func TestBatch(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		w := world.New(t)
		gateway := w.Network(t, "net", mode).Gateways[0]
		w.Network(t, "other", "bridge")
		before := w.Host.Dump(t)
		const count, refused = 20, 7
		var batch []heddle.AttachRequest // each container's request for net, and the one for other
		for i, q := range batchOf(t, w, "net", count) {
			second := q
			second.Network, second.ID.IfName = "other", "eth1"
			if i == refused {
				q.IPs = []netip.Addr{gateway}
			}
			batch = append(batch, q, second)
		}
		for _, again := range []bool{false, true} {
			results, err := w.AttachBatch(ctx, batch)
			if err != nil || len(results) != len(batch) {
				t.Fatalf("%d results, %v", len(results), err)
			}
			for i, r := range results {
				switch {
				case r.ID != batch[i].ID:
					t.Errorf("result %d is of %s, want %s", i, r.ID, batch[i].ID)
				case i == 2*refused:
					wantCode(t, r.Error, heddle.AddressTaken)
				case r.Error != nil:
					t.Error(r.Error)
				case r.Reply.Endpoint.ID != r.ID || r.Reply.Existed != again:
					t.Errorf("got %+v", r.Reply)
				}
			}
			distinct(t, w.Endpoints(), len(batch)-1)
			w.AuditEmpty(t)
		}
		for i, q := range batch {
			if i == 2*refused {
				continue
			}
			if e, err := w.Endpoint(q.ID); err != nil || e.DefaultRoute != (i%2 == 0 || i == 2*refused+1) {
				t.Errorf("endpoint %s: default route %v, %v", q.ID, e.DefaultRoute, err)
			}
		}
		for _, q := range batch {
			if _, err := w.Detach(ctx, q.ID); err != nil {
				t.Error(err)
			}
		}
		w.AuditEmpty(t)
		if err := sameLines(world.Unnumbered(before), world.Unnumbered(w.Host.Dump(t))); err != nil {
			t.Errorf("after all have left: %v", err)
		}
	})
}

// TestBatchRefused: a batch with one request that is wrong in itself changes nothing.
func TestBatchRefused(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	good := batchOf(t, w, "net", 3)
	for name, c := range map[string]struct {
		spoil func(*heddle.AttachRequest)
		want  heddle.Code
	}{
		"a network that is not there": {func(q *heddle.AttachRequest) { q.Network = "nonet" }, heddle.NoNetwork},
		"a bad id":                    {func(q *heddle.AttachRequest) { q.ID.Container = "../c2" }, heddle.BadID},
		"a bad port":                  {func(q *heddle.AttachRequest) { q.Ports = []heddle.PortMapping{{Protocol: "tcp"}} }, heddle.BadPort},
		"an endpoint twice":           {func(q *heddle.AttachRequest) { q.ID = good[0].ID }, heddle.BadArgument},
		"a dry run":                   {func(q *heddle.AttachRequest) { q.DryRun = true }, heddle.BadArgument},
	} {
		bad := append([]heddle.AttachRequest{}, good...)
		c.spoil(&bad[2])
		results, err := w.AttachBatch(ctx, bad)
		if wantCode(t, err, c.want); len(results) > 0 || len(w.Endpoints()) > 0 {
			t.Errorf("%s: %d results, %d endpoints", name, len(results), len(w.Endpoints()))
		}
	}
}

// TestBatchCancelled: a batch whose caller is gone begins no further endpoint, and finishes those that it has begun.
func TestBatchCancelled(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	batch := batchOf(t, w, "net", min(max(60, 8*runtime.GOMAXPROCS(0)), heddle.MaxBatch)) // many more than are made at once
	calling, leave := context.WithCancel(ctx)
	w.TripAt(func(step string) error {
		if step == "ledger made" {
			leave()
		}
		return nil
	})
	results, err := w.AttachBatch(calling, batch)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, r := range results {
		if r.Error == nil {
			made++
		} else {
			wantCode(t, r.Error, heddle.Waited)
		}
	}
	if made == 0 || made > len(batch)/2 {
		t.Errorf("%d of %d were attached", made, len(batch))
	}
	distinct(t, w.Endpoints(), made)
	w.AuditEmpty(t)
}

// TestBatchPanic: a panic in the attach of one endpoint is that endpoint's error. The others are attached, and so is it when it is asked for again.
func TestBatchPanic(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	batch := batchOf(t, w, "net", 6)
	var once sync.Once
	w.TripAt(func(step string) error {
		if step == "ledger made" {
			once.Do(func() { panic("tripped") })
		}
		return nil
	})
	for _, want := range []int{1, 0} {
		results, err := w.AttachBatch(ctx, batch)
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		for _, r := range results {
			if r.Error == nil {
				continue
			}
			if failed++; r.Error.Cause != "panic: tripped" {
				t.Error(r.Error)
			}
		}
		if failed != want {
			t.Errorf("%d of %d failed, want %d", failed, len(batch), want)
		}
	}
	distinct(t, w.Endpoints(), len(batch))
	w.AuditEmpty(t)
}
