package impair

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Count counts what a relay did in one direction.
type Count struct {
	Frames     uint64 `json:"frames"`
	Lost       uint64 `json:"lost"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Corrupted  uint64 `json:"corrupted"`
	// Spoiled frames passed with a wrong checksum, Overflown ones found the relay's queue
	// full, Refused ones were refused by the kernel.
	Spoiled   uint64 `json:"spoiled"`
	Overflown uint64 `json:"overflown"`
	Refused   uint64 `json:"refused"`
}

// Plus adds counts.
func (c Count) Plus(o Count) Count {
	return Count{c.Frames + o.Frames, c.Lost + o.Lost, c.Duplicated + o.Duplicated, c.Reordered + o.Reordered,
		c.Corrupted + o.Corrupted, c.Spoiled + o.Spoiled, c.Overflown + o.Overflown, c.Refused + o.Refused}
}

// Relay is one direction of a wire: frames are passed to it, and it writes them when they are due.
type Relay struct {
	// Late, if it is set, is told of each frame how much later than due it was written. A frame is due its delay after it
	// arrived.
	Late func(time.Duration)

	stream  uint64
	mu      sync.Mutex
	decider *decider
	count   Count
	queue   *queue
	refused atomic.Uint64 // frames that the kernel did not take
}

// NewRelay returns a relay that does nothing to frames yet. With the same seed, those of different streams make other
// decisions.
func NewRelay(stream uint64) *Relay {
	return &Relay{stream: stream, decider: newDecider(Impairment{}, stream), queue: newQueue()}
}

// Set takes new settings, and starts again from their seed.
func (l *Relay) Set(i Impairment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decider = newDecider(i, l.stream)
}

// SetRate limits the rate at which frames leave; then the impairment's delay passes. A frame is lost if it would wait
// longer than 50 ms and a round trip on the link (twice the delay), and longer than ten full frames take. Set comes first.
func (l *Relay) SetRate(r Rate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.pace(r, l.decider.Delay)
}

// Close ends Write. Frames that wait are lost.
func (l *Relay) Close() { l.queue.close() }

// Counted is what has been done since the relay was made.
func (l *Relay) Counted() Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.count
	c.Refused = l.refused.Load()
	return c
}

// Read receives frames, each with its virtio header, and when it arrived, until there is an error.
func (l *Relay) Read(next func() ([]byte, time.Time, error)) error {
	for {
		b, at, err := next()
		if err != nil {
			return err
		}
		if len(b) > HeaderSize {
			l.Pass(b, at)
		}
	}
}

// Pass decides what happens to one frame, which has its virtio header, and queues it. Its delay counts from when it arrived.
func (l *Relay) Pass(b []byte, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, c := l.decider.decide(), &l.count
	c.Frames++
	if f.lose {
		c.Lost++
		return
	}
	if needsChecksum(b) {
		completeChecksum(b, l.decider.SpoilChecksums)
		if l.decider.SpoilChecksums {
			c.Spoiled++
		}
	}
	if f.corrupt {
		flipBit(b, f.bit)
		c.Corrupted++
	}
	if f.late {
		c.Reordered++
	}
	copies := 1
	if f.twice {
		c.Duplicated++
		copies = 2
	}
	for range copies {
		if !l.queue.put(b, at, f.delay, f.late) {
			c.Overflown++
		}
	}
}

// Write sends frames when they are due, until the relay is closed. A frame that the kernel refuses (the link is down,
// the frame is too large, the queue is full) is lost, as on a wire.
func (l *Relay) Write(to io.Writer) error {
	for {
		f, open := l.queue.take()
		if !open {
			return nil
		}
		if l.Late != nil {
			l.Late(time.Since(f.due))
		}
		if _, err := to.Write(f.data); err != nil {
			if errors.Is(err, os.ErrClosed) {
				return err
			}
			l.refused.Add(1)
		}
	}
}
