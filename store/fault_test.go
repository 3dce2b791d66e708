package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// TestFaults checks the promises of a store whose server is stopped, is slow, or compacts, and
// finally loses its data.
func TestFaults(t *testing.T) {
	forAll(t, 0, func(t *testing.T, k keeper) {
		s := dial(t, k)
		t.Run("compaction under a watch", func(t *testing.T) { testCompaction(t, s) })
		t.Run("restart", func(t *testing.T) { testRestart(t, s, k) })
		t.Run("silence", func(t *testing.T) { testSilence(t, s, k) })
		if d, ok := k.(*debian); ok {
			t.Run("stopped process", func(t *testing.T) { testPaused(t, d) })
		}
		t.Run("lost data", func(t *testing.T) { testLostData(t, s, k) })
	})
}

// testRestart watches a number that is counted up while the server is stopped
// and started again, twice.
func testRestart(t *testing.T, s store.Store, k keeper) {
	m := follow(t, s, "/r/", nil)
	quit, counted := make(chan struct{}), make(chan int, 1)
	go func() { counted <- count(t, s, "/r/count", quit) }()
	for range 2 {
		m.wait(t, "counting goes on", func(m *mirror) bool { return number(m.entries["/r/count"]) > 0 })
		k.stop()
		health(t, s, "down")
		k.start()
		took := health(t, s, "ok")
		at := number(read(t, s, "/r/count").Entries[0])
		m.wait(t, "counting goes on", func(m *mirror) bool { return number(m.entries["/r/count"]) > at })
		t.Logf("well again %v after the start", took.Round(time.Millisecond))
	}
	close(quit)
	if n := <-counted; n == 0 || n != number(read(t, s, "/r/count").Entries[0]) {
		t.Errorf("counted to %d, the store has %+v", n, read(t, s, "/r/"))
	}
	m.agrees(t, s, "/r/")
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.snapshots < 3 {
		t.Errorf("%d snapshots, the server was stopped twice", m.snapshots)
	}
}

// count increments a number until quit, and returns the last value. After a change without an
// answer it reads the number. But the change may still be under way, and be made later; only the
// next change that is made rules this out.
func count(t *testing.T, s store.Store, key string, quit <-chan struct{}) int {
	n, revision, unknown := 0, int64(0), false
	for {
		select {
		case <-quit:
			if !unknown {
				return n
			}
		case <-time.After(5 * time.Millisecond):
		}
		done, at, err := s.Commit(t.Context(), store.Change{Require: []store.Condition{{Key: key, Revision: revision}}, Put: put(key, fmt.Sprint(n+1))})
		switch {
		case err == nil && done:
			n, revision, unknown = n+1, at, false
			continue
		case err == nil && !unknown:
			t.Errorf("somebody else changed %s", key)
			return n
		}
		r, failed := s.Read(t.Context(), key)
		if failed != nil {
			t.Error(failed)
			return n
		}
		was := n
		if len(r.Entries) == 1 {
			n, revision = number(r.Entries[0]), r.Entries[0].Revision
		}
		if n != was && n != was+1 || err == nil && n == was {
			t.Errorf("counted %d, the store has %d; the change: %v", was, n, err)
		}
		unknown = err != nil && n == was // after a change is made, it is no longer under way
	}
}

// testCompaction compacts revisions that an unread watch has not sent yet.
func testCompaction(t *testing.T, s *store.Etcd) {
	gate := make(chan struct{})
	m := follow(t, s, "/k/", gate)
	for i := 1; i <= 400; i++ { // more than buffers hold
		commit(t, s, store.Change{Put: append(put("/k/count", fmt.Sprint(i)), put("/k/fill", strings.Repeat("x", 60_000))...)})
	}
	at := commit(t, s, store.Change{Put: put("/k/last", "1")})
	if _, err := s.Client().Compact(t.Context(), at, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	close(gate)
	m.agrees(t, s, "/k/")
	t.Logf("%d snapshots", m.snapshots)
	commit(t, s, store.Change{DeletePrefix: []string{"/k/"}})
	m.agrees(t, s, "/k/")
}

// testSilence has the network drop everything for longer than a lease.
func testSilence(t *testing.T, s store.Store, k keeper) {
	r := newRelay(t, k.endpoint())
	options := r.options(k)
	options.Patience = 10 * time.Second
	far := dialOptions(t, options)
	health(t, far, "ok")
	commit(t, far, store.Change{Put: put("/s/alive", "1"), Lease: 8})
	near, seen := follow(t, s, "/s/", nil), follow(t, far, "/s/", nil)
	near.wait(t, "the lease holds", func(m *mirror) bool { return len(m.entries) == 1 })
	seen.wait(t, "the lease holds", func(m *mirror) bool { return len(m.entries) == 1 })
	r.hush()
	t.Logf("silence noticed after %v", health(t, far, "down").Round(time.Millisecond))
	_, _, err := far.Commit(t.Context(), store.Change{Put: put("/s/other", "1")})
	if !errors.Is(err, heddle.StoreDown.Sentinel()) || !strings.Contains(err.Error(), "/s/other") {
		t.Errorf("a change into silence: %v", err)
	}
	near.wait(t, "the lease ended", func(m *mirror) bool { return len(m.entries) == 0 })
	r.heal()
	took := health(t, far, "ok")
	// It learns from the watch that its lease ended, and puts it again.
	seen.wait(t, "the lease is known to have ended", func(m *mirror) bool { _, ok := m.entries["/s/alive"]; return !ok })
	commit(t, far, store.Change{Put: put("/s/alive", "2"), Lease: 8})
	near.wait(t, "the new lease holds", func(m *mirror) bool { return number(m.entries["/s/alive"]) == 2 })
	t.Logf("well again after %v", took.Round(time.Millisecond))
}

// testPaused stops a server's process without closing its connections.
func testPaused(t *testing.T, d *debian) {
	s := dialOptions(t, store.Options{Endpoints: []string{d.endpoint()}})
	m := follow(t, s, "/t/", nil)
	commit(t, s, store.Change{Put: put("/t/count", "1")})
	m.agrees(t, s, "/t/")
	d.signal(syscall.SIGSTOP)
	t.Logf("noticed after %v", health(t, s, "down").Round(time.Millisecond))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, _, err := s.Commit(ctx, store.Change{Require: []store.Condition{{Key: "/t/b"}}, Put: put("/t/b", "1")})
	if !errors.Is(err, heddle.StoreDown.Sentinel()) {
		t.Errorf("a change of a store that is stopped: %v", err)
	}
	if _, err := s.Read(ctx, "/t/"); !errors.Is(err, heddle.StoreDown.Sentinel()) {
		t.Errorf("a read of a store that is stopped: %v", err)
	}
	d.signal(syscall.SIGCONT)
	took := health(t, s, "ok")
	commit(t, s, store.Change{Put: put("/t/count", "2")})
	m.agrees(t, s, "/t/")
	t.Logf("well again after %v", took.Round(time.Millisecond))
}

// testLostData has the store lose everything behind the back of its clients.
func testLostData(t *testing.T, s store.Store, k keeper) {
	m := follow(t, s, "/d/", nil)
	commit(t, s, store.Change{Put: put("/d/a", "1")})
	m.wait(t, "what was put", func(m *mirror) bool { return len(m.entries) == 1 })
	k.stop()
	k.wipe()
	k.start()
	m.wait(t, "a snapshot of nothing, at a revision of before", func(m *mirror) bool { return len(m.entries) == 0 && m.revision == 1 })
	commit(t, s, store.Change{Put: put("/d/b", "1")})
	m.agrees(t, s, "/d/")
}

// TestFull fills a store up, makes room, and goes on.
func TestFull(t *testing.T) {
	forAll(t, 16<<20, func(t *testing.T, k keeper) {
		s := dial(t, k)
		m := follow(t, s, "/f/", nil)
		n := 0
		fill := func() {
			for ; n < 200; n++ {
				_, _, err := s.Commit(t.Context(), store.Change{Put: put(fmt.Sprintf("/f/%d", n), strings.Repeat("x", 900_000))})
				if errors.Is(err, heddle.StoreFull.Sentinel()) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if n == 0 || n == 200 {
				t.Fatalf("a store of 16 MiB is full after %d records of 900 kB", n)
			}
		}
		fill()
		until(t, "health says that it is full", func() (bool, any) {
			h := s.Health()
			full := h.State == "down" && strings.Contains(h.Detail, "NOSPACE")
			if !full {
				fill() // an embedded member makes room, if a part of its file is free
			}
			return full, h
		})
		// To delete is allowed, and what the others see goes on.
		commit(t, s, store.Change{DeletePrefix: []string{"/f/"}})
		m.agrees(t, s, "/f/")
		if _, ok := k.(*debian); ok {
			operatorsRoom(t, s.Client(), k.endpoint())
		}
		health(t, s, "ok") // an embedded member makes room itself
		commit(t, s, store.Change{Put: put("/f/more", strings.Repeat("x", 900_000))})
		m.agrees(t, s, "/f/")
	})
}

// operatorsRoom is what an operator does with a store of his own.
func operatorsRoom(t *testing.T, c *clientv3.Client, endpoint string) {
	t.Helper()
	r, err := c.Get(t.Context(), "/f/")
	if err == nil {
		_, err = c.Compact(t.Context(), r.Header.Revision, clientv3.WithCompactPhysical())
	}
	if err == nil {
		_, err = c.Defragment(t.Context(), endpoint)
	}
	if err == nil {
		_, err = c.AlarmDisarm(t.Context(), &clientv3.AlarmMember{})
	}
	if err != nil {
		t.Fatal(err)
	}
}
