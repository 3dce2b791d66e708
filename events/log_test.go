package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-network/heddle"
)

func add(l *Log, n int) {
	for i := range n {
		l.Add(Event{Kind: Endpoint, Action: Attached, Object: fmt.Sprint("e", i)})
	}
}

// all reads what is there from a place on.
func all(t *testing.T, l *Log, since string) (got []Event) {
	t.Helper()
	w, err := l.Watch(since)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for {
		some, err := w.Read()
		if err != nil {
			t.Fatal(err)
		}
		if len(some) == 0 {
			return got
		}
		got = append(got, some...)
	}
}

// Reading goes on after every cursor, with nothing missed or doubled.
func TestResume(t *testing.T) {
	l := NewLog()
	early, err := l.Watch("")
	if err != nil {
		t.Fatal(err)
	}
	begin := early.Cursor()
	add(l, 3*maxBatch)
	whole := all(t, l, SinceAll)
	if len(whole) != 3*maxBatch || len(all(t, l, "")) != 0 || len(all(t, l, "0")) != 3*maxBatch {
		t.Fatalf("%d events", len(whole))
	}
	if got := all(t, l, begin); len(got) != len(whole) {
		t.Errorf("%d events since there were none", len(got))
	}
	for i, e := range whole {
		rest := all(t, l, e.Cursor)
		if len(rest) != len(whole)-i-1 || len(rest) > 0 && rest[0].Cursor != whole[i+1].Cursor {
			t.Fatalf("after %s: %d events", e.Cursor, len(rest))
		}
	}
}

func TestSinceDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLog()
		for range 3 {
			add(l, 2)
			time.Sleep(time.Minute)
		}
		for since, want := range map[string]int{"30s": 0, "90s": 2, "2m": 4, "1h": 6} {
			if got := all(t, l, since); len(got) != want {
				t.Errorf("since %s: %d events, want %d", since, len(got), want)
			}
		}
	})
}

// What is not kept any more is never passed over in silence.
func TestGap(t *testing.T) {
	l, other := NewLog(), NewLog()
	add(other, 1)
	add(l, 1)
	first := all(t, l, SinceAll)[0].Cursor
	slow, err := l.Watch("")
	if err != nil || slow.Cursor() != first {
		t.Fatal(slow, err)
	}
	add(l, maxEvents)
	if got := all(t, l, first); len(got) != maxEvents {
		t.Errorf("%d events after the last one that is gone", len(got))
	}
	if got, err := slow.Read(); err != nil || len(got) != maxBatch {
		t.Errorf("a watcher that has just not missed any: %v", err)
	}
	add(l, maxBatch+1)
	for name, since := range map[string]string{"too old": first, "another life's": all(t, other, SinceAll)[0].Cursor, "to come": l.cursor(1 << 40), "the last number": l.cursor(1<<64 - 1)} {
		if _, err := l.Watch(since); !errors.Is(err, heddle.EventsLost.Sentinel()) {
			t.Errorf("a cursor that is %s: %v", name, err)
		}
	}
	if _, err := slow.Read(); !errors.Is(err, heddle.EventsLost.Sentinel()) {
		t.Errorf("a watcher that was overtaken: %v", err)
	}
	for _, since := range []string{"x", "-5m", "-1", l.runID, l.runID + "-", l.runID + "-x", l.runID + "--1", "XXXXXXXXXXXXXXXX-1", strings.Repeat("9", 1000)} {
		if _, err := l.Watch(since); !errors.Is(err, heddle.BadArgument.Sentinel()) {
			t.Errorf("cursor %.40q: %v", since, err)
		}
	}
}

// The log's memory is bounded, whatever events hold.
func TestBytes(t *testing.T) {
	l := NewLog()
	labels := map[string]string{}
	for i := range heddle.MaxLabels {
		labels[fmt.Sprint("key", i)] = strings.Repeat("x", heddle.MaxLabelValue)
	}
	detail := strings.Repeat("y", 1<<20)
	for range 2 * maxEvents {
		l.Add(Event{Labels: labels, Detail: detail})
	}
	got := all(t, l, SinceAll)
	if l.bytes > maxBytes || len(got) < 10 || len(got) > maxEvents/4 || len(got[0].Detail) > maxDetail+3 {
		t.Errorf("%d events of %d bytes", len(got), l.bytes)
	}
	flow := &heddle.Flow{Policies: strings.Fields(strings.Repeat("policy ", 1000)), Why: strings.Repeat("policy, ", 1000)}
	for range maxEvents {
		l.Add(Event{Kind: Flow, Flow: flow})
	}
	if got := all(t, l, SinceAll); len(got) < 10 || len(got) > maxBytes/(len(flow.Why)+1000*len("policy")) {
		t.Errorf("%d flows", len(got))
	}
	add(l, maxEvents)
	if got := all(t, l, SinceAll); len(got) != maxEvents || got[0].Detail != "" {
		t.Errorf("%d events", len(got))
	}
}

// Many watchers at once each get each event once, in order; the log waits for none.
func TestWatchers(t *testing.T) {
	const number = maxEvents / 2
	l := NewLog()
	var wait sync.WaitGroup
	for range 8 {
		w, err := l.Watch("")
		if err != nil {
			t.Fatal(err)
		}
		wait.Go(func() {
			defer w.Close()
			for got := 0; got < number; {
				some, err := w.Next(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range some {
					if e.Cursor != l.cursor(uint64(got+1)) {
						t.Errorf("event %d has cursor %s", got, e.Cursor)
					}
					got++
				}
			}
		})
	}
	idle, err := l.Watch("")
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() { add(l, number/4) })
	}
	writers.Wait()
	wait.Wait()
	idle.Close()
	if l.Watched() {
		t.Error("nobody watches any more")
	}
}

func TestNextEnds(t *testing.T) {
	l := NewLog()
	w, _ := l.Watch("")
	defer w.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestTooManyWatchers(t *testing.T) {
	l := NewLog()
	var open []*Watcher
	for range maxWatchers {
		w, err := l.Watch("")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, w)
	}
	if _, err := l.Watch(""); !errors.Is(err, heddle.WatchersFull.Sentinel()) {
		t.Error(err)
	}
	open[0].Close()
	if _, err := l.Watch(""); err != nil {
		t.Error(err)
	}
}
