package store_test

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/poll"
)

// patience is how long expected events may take.
const patience = 2 * time.Minute

// mirror follows a watch and holds the contents of the store. It records where the watch breaks its
// promises: revisions are in order, and no step of the key "…/count", which each change increments,
// is left out.
type mirror struct {
	mu        sync.Mutex
	entries   map[string]store.Entry
	revision  int64
	snapshots int
	broken    []string
	changed   chan struct{}
}

// follow begins a watch. It takes events only while gate, if there is one, is open.
func follow(t *testing.T, s store.Store, prefix string, gate <-chan struct{}) *mirror {
	ctx, cancel := context.WithCancel(t.Context())
	m := &mirror{changed: make(chan struct{}, 1)}
	events, done := s.Watch(ctx, prefix), make(chan struct{})
	go func() {
		defer close(done)
		if gate != nil {
			<-gate
		}
		for e := range events {
			m.take(e, prefix+"count")
			select {
			case m.changed <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, b := range m.broken {
			t.Error(b)
		}
	})
	return m
}

func (m *mirror) take(e store.Event, counter string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Snapshot {
		m.snapshots++
		m.entries = map[string]store.Entry{}
	} else if m.snapshots == 0 || e.Revision <= m.revision {
		m.broken = append(m.broken, fmt.Sprintf("event of revision %d after %d, %d snapshots", e.Revision, m.revision, m.snapshots))
	}
	m.revision = e.Revision
	for _, entry := range e.Entries {
		before := number(m.entries[counter])
		m.entries[entry.Key] = entry
		if after := number(entry); entry.Key == counter && !e.Snapshot && after != before+1 {
			m.broken = append(m.broken, fmt.Sprintf("after %d came %d: something was left out", before, after))
		}
	}
	for _, k := range e.Deleted {
		delete(m.entries, k)
	}
}

func number(e store.Entry) int {
	n, _ := strconv.Atoi(string(e.Value))
	return n
}

// wait returns when the mirror is as wanted.
func (m *mirror) wait(t *testing.T, what string, as func(m *mirror) bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		m.mu.Lock()
		ok := as(m)
		m.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-m.changed:
		case <-timeout:
			m.mu.Lock()
			defer m.mu.Unlock()
			t.Fatalf("%s: not so after %v; revision %d, %d snapshots, %d entries", what, patience, m.revision, m.snapshots, len(m.entries))
		}
	}
}

// agrees waits for the mirror to hold what the store holds.
func (m *mirror) agrees(t *testing.T, s store.Store, prefix string) {
	t.Helper()
	now := read(t, s, prefix)
	want := map[string]string{}
	for _, e := range now.Entries {
		want[e.Key] = string(e.Value)
	}
	m.wait(t, "the watch holds what the store holds", func(m *mirror) bool {
		got := map[string]string{}
		for k, e := range m.entries {
			got[k] = string(e.Value)
		}
		return maps.Equal(got, want)
	})
}

func read(t *testing.T, s store.Store, prefix string) store.Snapshot {
	t.Helper()
	r, err := s.Read(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// commit makes a change that must be made.
func commit(t *testing.T, s store.Store, c store.Change) int64 {
	t.Helper()
	done, revision, err := s.Commit(t.Context(), c)
	if err != nil || !done {
		t.Fatalf("change not made: done %v, error %v", done, err)
	}
	return revision
}

// refuse makes a change that must be refused because of its conditions.
func refuse(t *testing.T, s store.Store, c store.Change) {
	t.Helper()
	done, _, err := s.Commit(t.Context(), c)
	if err != nil || done {
		t.Fatalf("change that must not be made: done %v, error %v", done, err)
	}
}

func put(key, value string) []store.Entry { return []store.Entry{{Key: key, Value: []byte(value)}} }

// health waits for a state, and says how long it took.
func health(t *testing.T, s store.Store, state string) time.Duration {
	t.Helper()
	return until(t, "health is "+state, func() (bool, any) {
		h := s.Health()
		return h.State == state, h
	})
}

func until(t *testing.T, what string, ok func() (bool, any)) time.Duration {
	t.Helper()
	took, err := poll.Until(patience, 20*time.Millisecond, func() error {
		if now, seen := ok(); !now {
			return fmt.Errorf("%+v", seen)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: not so after %v: %v", what, patience, err)
	}
	return took
}
