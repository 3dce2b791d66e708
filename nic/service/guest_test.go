package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// TestTooMany: a machine gets no more NICs than it may have, also at the same time.
func TestTooMany(t *testing.T) {
	w := newWorld()
	w.pause = func() { time.Sleep(time.Millisecond) }
	s := w.service()
	var all sync.WaitGroup
	var got, not atomic.Int32
	for i := range 20 {
		all.Go(func() {
			if _, err := s.Plug(ctx, "a", order(fmt.Sprint("x", i))); err == nil {
				got.Add(1)
			} else if errors.Is(err, heddle.NoSlot.Sentinel()) {
				not.Add(1)
			}
		})
	}
	all.Wait()
	if got.Load() != 2 || not.Load() != 18 || len(w.ports) != 2 || len(w.devices["a"]) != 2 {
		t.Error(got.Load(), not.Load(), w.state())
	}
	_, err := s.Plug(ctx, "b", order("x"))
	must(t, err)
}

// TestTwice: the same token twice at once is one NIC.
func TestTwice(t *testing.T) {
	w := newWorld()
	s := w.service()
	w.wait = func(string) { time.Sleep(time.Millisecond) }
	var all sync.WaitGroup
	cards := make([]nic.Card, 20)
	for i := range cards {
		all.Go(func() {
			var err error
			if cards[i], err = s.Plug(ctx, "a", order("x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, c := range cards {
		if fmt.Sprint(c) != fmt.Sprint(cards[0]) {
			t.Error(c)
		}
	}
	if got := w.took(); got != "make a/x, open tap1, plug tap1" || len(s.guests["a"].tokens.byID)+len(s.held.byID) != 0 {
		t.Error(got, s.guests["a"].tokens.byID)
	}
}

// TestWaiting: eight requests of a machine run at a time. Others wait until their context ends; one whose context
// has ended does nothing. Another machine does not wait.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.service()
		most := 64
		s.guests["a"].Most = &most
		var running, peak atomic.Int32
		w.wait = func(id string) {
			if id != "tap9" { // that of b, the ninth
				peak.Store(max(peak.Load(), running.Add(1)))
				time.Sleep(time.Second)
				running.Add(-1)
			}
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if _, err := s.Plug(ctx, "a", order(fmt.Sprint("x", i))); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		_, err := s.Plug(short, "a", order("y"))
		refused(t, "waiting", err, heddle.Waited)
		if _, err := s.Plug(ctx, "b", order("b")); err != nil {
			t.Error(err)
		}
		all.Wait()
		if peak.Load() != maxRequests || len(w.ports) != 21 {
			t.Error(peak.Load(), w.state())
		}
		for range 20 {
			_, err = s.Plug(short, "a", order("y"))
			refused(t, "expired", err, heddle.Waited)
			refused(t, "expired", s.Unplug(short, "a", "x1"), heddle.Waited)
		}
		if len(w.ports) != 21 || len(s.guests["a"].room)+len(s.guests["a"].tokens.byID) != 0 {
			t.Error("an expired request changed something, or holds a lock")
		}
	})
}

// TestFinished: what has begun is finished though the caller disconnects; what takes too long is undone.
func TestFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.service()
		call, hangUp := context.WithCancel(ctx)
		w.wait = func(string) { hangUp() }
		if _, err := s.Plug(call, "a", order("x")); err != nil {
			t.Error(err)
		}
		w.wait = func(string) { time.Sleep(workTime + time.Second) }
		_, err := s.Plug(ctx, "a", order("y"))
		refused(t, "slow", err, heddle.Waited)
		if got := w.state(); got != "a/x, a=tap1" {
			t.Error(got)
		}
	})
}

// TestSameToken: who waits for another request about the same NIC, and whose time is over, holds nothing. Unplug
// waits for Plug.
func TestSameToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.service()
		w.wait = func(string) { time.Sleep(time.Second) }
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := s.Plug(ctx, "a", order("x")); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		refused(t, "unplug", s.Unplug(short, "a", "x"), heddle.Waited)
		if g := s.guests["a"]; len(g.room) != 1 || g.tokens.byID["x"].users != 1 {
			t.Error(len(g.room), g.tokens.byID["x"].users)
		}
		must(t, s.Unplug(ctx, "a", "x"))
		all.Wait()
		if got := w.took(); got != "make a/x, open tap1, plug tap1, unplug tap1, remove a/x" {
			t.Error(got)
		}
	})
}
