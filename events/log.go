package events

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
)

const (
	// maxEvents and maxBytes bound what the log keeps; the oldest events go first.
	maxEvents, maxBytes = 4096, 4 << 20
	// maxWatchers is how many may read the log at a time.
	maxWatchers = 64
	// maxBatch is how many events a watcher gets at a time.
	maxBatch = 64
	// runIDDigits is the length of runID.
	runIDDigits = 16
)

// Log keeps the last events. Adding one never waits for those who read.
type Log struct {
	runID string

	mu sync.Mutex
	// ring has event n at n modulo maxEvents; first to next-1 are kept.
	ring        []Event
	first, next uint64
	bytes       int
	watchers    int
	// more is closed when there are new events; nil while nobody waits for one.
	more chan struct{}
}

// NewLog returns an empty log with a new run ID.
func NewLog() *Log {
	id := make([]byte, runIDDigits/2)
	rand.Read(id)
	return &Log{runID: hex.EncodeToString(id)}
}

// Add appends an event, as of now if it has no time.
func (l *Log) Add(e Event) {
	if e.Time.IsZero() {
		e.Time = time.Now().UTC()
	}
	if len(e.Detail) > maxDetail {
		e.Detail = strings.ToValidUTF8(e.Detail[:maxDetail], "") + "…"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.next > l.first && (l.next-l.first == maxEvents || l.bytes+e.size() > maxBytes) {
		oldest := l.atLocked(l.first)
		l.bytes -= oldest.size()
		*oldest = Event{}
		l.first++
	}
	if len(l.ring) < maxEvents {
		l.ring = append(l.ring, e)
	} else {
		*l.atLocked(l.next) = e
	}
	l.bytes += e.size()
	l.next++
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// atLocked is where event number n is.
func (l *Log) atLocked(n uint64) *Event { return &l.ring[n%maxEvents] }

// Watched reports whether anybody reads the log.
func (l *Log) Watched() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watchers > 0
}

// Watcher reads the log at its own pace. Only one goroutine may use it. It has to be closed.
type Watcher struct {
	log  *Log
	next uint64
}

// Watch starts reading: after a cursor, from a duration ago, from the oldest event (SinceAll),
// or with new events only ("").
func (l *Log) Watch(since string) (*Watcher, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next, err := l.firstForLocked(since)
	if err != nil {
		return nil, err
	}
	if l.watchers >= maxWatchers {
		return nil, heddle.Errorf(heddle.WatchersFull, "watch events", "",
			fmt.Sprintf("%d programs watch them, and no more may", maxWatchers),
			"end another watcher ('heddle events', 'heddle flows --follow', or what calls /v1/events or /v1/flows)")
	}
	l.watchers++
	return &Watcher{l, next}, nil
}

// Cursor is where the watcher stands: another one may go on from there.
func (w *Watcher) Cursor() string { return w.log.cursor(w.next) }

// Close ends the watcher.
func (w *Watcher) Close() {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.log.watchers--
}

// Read returns the next events that are there, at most a batch; an error of code
// EventsLost if the log has run ahead of the watcher.
func (w *Watcher) Read() ([]Event, error) {
	all, _, err := w.read(false)
	return all, err
}

// Next is Read that waits for one event at least.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	for {
		all, more, err := w.read(true)
		if err != nil || len(all) > 0 {
			return all, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// read returns the next events. If there are none and wait is set, it returns a channel that
// is closed when there are more.
func (w *Watcher) read(wait bool) (all []Event, more <-chan struct{}, err error) {
	l := w.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.next < l.first {
		return nil, nil, eventsLost(l.cursor(w.next), "the watcher was too slow, and later events are not kept any more")
	}
	for ; w.next < l.next && len(all) < maxBatch; w.next++ {
		e := *l.atLocked(w.next)
		e.Cursor = l.cursor(w.next + 1)
		all = append(all, e)
	}
	if len(all) == 0 && wait {
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more = l.more
	}
	return all, more, nil
}
