// Package store_test checks every kind of store by the same contract.
package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// TestContract checks the promises of a healthy store.
func TestContract(t *testing.T) {
	forAll(t, 0, func(t *testing.T, k keeper) {
		s := dial(t, k)
		t.Run("conditions", func(t *testing.T) { testConditions(t, s) })
		t.Run("prefix conditions", func(t *testing.T) { testPrefixConditions(t, s) })
		t.Run("whole or not at all", func(t *testing.T) { testAtomic(t, s) })
		t.Run("limits", func(t *testing.T) { testLimits(t, s) })
		t.Run("one of many wins", func(t *testing.T) { testCreators(t, s) })
		t.Run("no change lost", func(t *testing.T) { testCounters(t, s, dial(t, k)) })
		t.Run("watch", func(t *testing.T) { testWatch(t, s) })
		t.Run("conditions alone", func(t *testing.T) { testConditionsAlone(t, s) })
		t.Run("large snapshot", func(t *testing.T) { testLarge(t, s) })
		t.Run("watch of all", func(t *testing.T) { testWatchAll(t, s) })
		t.Run("lease", func(t *testing.T) { testLease(t, s, k) })
		health(t, s, "ok")
		h := s.Health()
		if len(h.Members) != 1 || h.Members[0].Role != "leader" || !h.Members[0].Up || h.Members[0].Name != "one" {
			t.Errorf("members of a healthy store: %+v", h)
		}
	})
}

func testConditions(t *testing.T, s store.Store) {
	create := store.Change{Require: []store.Condition{{Key: "/c/a"}}, Put: put("/c/a", "1")}
	first := commit(t, s, create)
	refuse(t, s, create)
	second := commit(t, s, store.Change{Require: []store.Condition{{Key: "/c/a", Revision: first}}, Put: put("/c/a", "2")})
	if second <= first {
		t.Errorf("revisions %d, %d do not grow", first, second)
	}
	refuse(t, s, store.Change{Require: []store.Condition{{Key: "/c/a", Revision: first}}, Put: put("/c/a", "3")})
	// One condition that fails is enough.
	refuse(t, s, store.Change{Require: []store.Condition{{Key: "/c/a", Revision: second}, {Key: "/c/b", Revision: second}}, Delete: []string{"/c/a"}})
	r := read(t, s, "/c/")
	if len(r.Entries) != 1 || string(r.Entries[0].Value) != "2" || r.Entries[0].Revision != second || r.Revision < second {
		t.Errorf("read %+v, want the value 2 of revision %d", r, second)
	}
	commit(t, s, store.Change{Delete: []string{"/c/a", "/c/never"}})
	commit(t, s, create)
}

func testPrefixConditions(t *testing.T, s store.Store) {
	none := store.Change{Require: []store.Condition{{Key: "/p/x/", Prefix: true}}, Put: put("/p/x/1", "1")}
	first := commit(t, s, none)
	refuse(t, s, none)
	commit(t, s, store.Change{Put: put("/p/y", "beside it")})
	since := store.Change{Require: []store.Condition{{Key: "/p/x/", Revision: first, Prefix: true}}, Put: put("/p/x/2", "2")}
	commit(t, s, since)
	refuse(t, s, since)
	commit(t, s, store.Change{DeletePrefix: []string{"/p/x/"}})
	commit(t, s, none)
}

func testAtomic(t *testing.T, s store.Store) {
	commit(t, s, store.Change{Put: append(put("/a/old/1", "1"), append(put("/a/old/2", "2"), put("/a/gone", "3")...)...)})
	change := store.Change{Put: append(put("/a/new/1", "1"), put("/a/new/2", "2")...), Delete: []string{"/a/gone"}, DeletePrefix: []string{"/a/old/"}}
	bad := change
	bad.Require = []store.Condition{{Key: "/a/gone"}}
	refuse(t, s, bad)
	if r := read(t, s, "/a/"); len(r.Entries) != 3 {
		t.Fatalf("a change that was refused left %+v", r)
	}
	m := follow(t, s, "/a/", nil)
	m.wait(t, "the first snapshot", func(m *mirror) bool { return m.snapshots == 1 })
	at := commit(t, s, change)
	r := read(t, s, "/a/")
	for _, e := range r.Entries {
		if e.Revision != at || !strings.HasPrefix(e.Key, "/a/new/") {
			t.Errorf("unexpected entry %+v after a change at %d", e, at)
		}
	}
	m.wait(t, "the change, whole", func(m *mirror) bool {
		if m.revision == at && len(m.entries) != 2 {
			m.broken = append(m.broken, fmt.Sprintf("the watch split a change: %v", m.entries))
		}
		return m.revision == at
	})
}

func testLimits(t *testing.T, s store.Store) {
	var c store.Change
	for i := range store.MaxOps {
		key := fmt.Sprintf("/l/%d", i)
		c.Require, c.Put = append(c.Require, store.Condition{Key: key}), append(c.Put, put(key, "x")...)
	}
	commit(t, s, c)
	c.Require = nil
	c.Delete = []string{"/l/more"}
	for _, c := range []store.Change{c, {Put: append(put("/l/0", "twice"), put("/l/0", "twice")...)}} {
		_, _, err := s.Commit(t.Context(), c)
		if !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), "/l/0 and ") {
			t.Errorf("a change that the store cannot take: %v", err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Commit(ended, store.Change{Put: put("/l/never", "x")}); !errors.Is(err, heddle.StoreDown.Sentinel()) {
		t.Errorf("a call that was ended: %v", err)
	}
}

func testCreators(t *testing.T, s store.Store) {
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			done, _, err := s.Commit(t.Context(), store.Change{Require: []store.Condition{{Key: "/one"}}, Put: put("/one", fmt.Sprint(i))})
			if err != nil {
				t.Error(err)
			}
			if done {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d created one key", won.Load())
	}
}

// testCounters has many writers increment one number. It must count all that succeeded.
func testCounters(t *testing.T, stores ...store.Store) {
	var won atomic.Int32
	var all sync.WaitGroup
	var revisions sync.Map
	m := follow(t, stores[0], "/n/", nil)
	for i := range 12 {
		s := stores[i%len(stores)]
		all.Go(func() {
			for range 10 {
				now, err := s.Read(t.Context(), "/n/count")
				if err != nil {
					t.Error(err)
					return
				}
				var e store.Entry
				if len(now.Entries) == 1 {
					e = now.Entries[0]
				}
				done, at, err := s.Commit(t.Context(), store.Change{
					Require: []store.Condition{{Key: "/n/count", Revision: e.Revision}}, Put: put("/n/count", fmt.Sprint(number(e)+1))})
				if err != nil {
					t.Error(err)
				}
				if !done {
					continue // the revision is the one that it lost to
				}
				won.Add(1)
				if _, twice := revisions.LoadOrStore(at, true); twice {
					t.Errorf("two changes at revision %d", at)
				}
			}
		})
	}
	all.Wait()
	if r := read(t, stores[1], "/n/"); number(r.Entries[0]) != int(won.Load()) || won.Load() == 0 {
		t.Errorf("the number is %s, %d raised it", r.Entries[0].Value, won.Load())
	}
	m.agrees(t, stores[0], "/n/")
}

func testWatch(t *testing.T, s store.Store) {
	commit(t, s, store.Change{Put: put("/w/before", "1")})
	m := follow(t, s, "/w/", nil)
	m.wait(t, "the first snapshot", func(m *mirror) bool { return len(m.entries) == 1 })
	// A change of more bytes than etcd sends in one piece comes whole.
	var big store.Change
	for i := range 10 {
		big.Put = append(big.Put, put(fmt.Sprintf("/w/big/%d", i), strings.Repeat("x", 100_000))...)
	}
	for i := 1; i <= 30; i++ {
		commit(t, s, store.Change{Put: put("/w/count", fmt.Sprint(i)), Delete: []string{"/w/before"}})
		commit(t, s, store.Change{Put: put("/elsewhere", fmt.Sprint(i))})
	}
	at := commit(t, s, big)
	m.wait(t, "the big change", func(m *mirror) bool { return m.revision >= at })
	m.wait(t, "all of it", func(m *mirror) bool { return len(m.entries) == 11 && m.snapshots == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	events := s.Watch(ctx, "/w/")
	<-events
	cancel()
	for range events { // closed when it ends
	}
}

// testConditionsAlone: who has seen an event, and asks at once by conditions alone whether it holds,
// is never told of the time before.
func testConditionsAlone(t *testing.T, s store.Store) {
	const rounds = 500
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	events := s.Watch(ctx, "/alone/")
	<-events // what is there
	go func() {
		for i := range rounds {
			if _, _, err := s.Commit(ctx, store.Change{Put: put("/alone/x", fmt.Sprint(i))}); err != nil && ctx.Err() == nil {
				t.Error(err)
				stop()
			}
		}
	}()
	for last := fmt.Sprint(rounds - 1); ; {
		e, open := <-events
		if !open {
			return // an error is told
		}
		done, at, err := s.Commit(ctx, store.Change{Require: []store.Condition{{Key: "/alone/none"}}})
		if err != nil || !done || at < e.Revision {
			t.Fatalf("after the event of revision %d: done %v, revision %d, error %v", e.Revision, done, at, err)
		}
		if string(e.Entries[len(e.Entries)-1].Value) == last {
			break
		}
	}
	refuse(t, s, store.Change{Require: []store.Condition{{Key: "/alone/x"}}})
}

// testLarge has more data below a prefix than gRPC accepts by default, 4 MiB.
func testLarge(t *testing.T, s store.Store) {
	const changes, keys, size = 6, 100, 10_000
	for i := range changes {
		var c store.Change
		for j := range keys {
			c.Put = append(c.Put, put(fmt.Sprintf("/large/%d/%d", i, j), strings.Repeat("x", size))...)
		}
		commit(t, s, c)
	}
	if r := read(t, s, "/large/"); len(r.Entries) != changes*keys || len(r.Entries[0].Value) != size {
		t.Errorf("read %d entries of %d", len(r.Entries), changes*keys)
	}
	m := follow(t, s, "/large/", nil)
	m.wait(t, "all of it", func(m *mirror) bool { return len(m.entries) == changes*keys && m.snapshots == 1 })
	commit(t, s, store.Change{DeletePrefix: []string{"/large/"}})
	m.wait(t, "all of it goes", func(m *mirror) bool { return len(m.entries) == 0 })
}

func testWatchAll(t *testing.T, s store.Store) {
	m := follow(t, s, "", nil)
	commit(t, s, store.Change{Put: put("\xff", "last of all")})
	m.agrees(t, s, "")
}

// testLease shows that an entry with a lease lasts while its store access lives, and is removed
// with it.
func testLease(t *testing.T, s *store.Etcd, k keeper) {
	m := follow(t, s, "/lease/", nil)
	other, err := store.Dial(store.Options{Endpoints: []string{k.endpoint()}, TLS: k.client()})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, other, store.Change{Put: put("/lease/a", "1"), Lease: 8})
	commit(t, other, store.Change{Put: put("/lease/b", "1")})
	time.Sleep(9500 * time.Millisecond) // longer than the lease
	if r := read(t, s, "/lease/"); len(r.Entries) != 2 {
		t.Errorf("a store that lives lost what it put: %+v", r)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	m.wait(t, "only what has no lease is left", func(m *mirror) bool {
		return len(m.entries) == 1 && slices.ContainsFunc([]string{"/lease/b"}, func(k string) bool { return m.entries[k].Key == k })
	})
}
