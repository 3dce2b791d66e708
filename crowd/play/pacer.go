package play

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// grain is how long a pacer sleeps at least: what is due at about the same time takes one timer.
const grain = 500 * time.Microsecond

// pacer does on time what goes by the clock: it sends the packets of sound of many calls. So a packet wakes no goroutine of its own.
type pacer struct {
	mu    sync.Mutex
	beats beats
	// sooner wakes the pacer for a beat that is due before the one for which it sleeps.
	sooner chan struct{}
}

// beat is done again and again until it is over.
type beat struct {
	at    time.Time
	every time.Duration
	do    func(at time.Time) (over bool)
	over  chan struct{}
	// index is where it is in the queue; -1 is that it is not there.
	index int
	ended bool
}

func newPacer() *pacer { return &pacer{sooner: make(chan struct{}, 1)} }

// keep has something done at a time, and so long after that time again, until it says that it is over, or the context ends.
func (p *pacer) keep(ctx context.Context, at time.Time, every time.Duration, do func(at time.Time) (over bool)) error {
	b := &beat{at: at, every: every, do: do, over: make(chan struct{})}
	if p.push(b) {
		select {
		case p.sooner <- struct{}{}:
		default:
		}
	}
	select {
	case <-b.over:
		return nil
	case <-ctx.Done():
		p.end(b)
		return ctx.Err()
	}
}

// end ends a beat, and waits for it if it is being done.
func (p *pacer) end(b *beat) {
	p.mu.Lock()
	b.ended = true
	queued := b.index >= 0
	if queued {
		heap.Remove(&p.beats, b.index)
	}
	p.mu.Unlock()
	if !queued {
		<-b.over
	}
}

// push puts a beat into the queue, unless it has ended, and reports whether it is the first one.
func (p *pacer) push(b *beat) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.ended {
		close(b.over)
		return false
	}
	heap.Push(&p.beats, b)
	return b.index == 0
}

// run does what is due until the context ends.
func (p *pacer) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		b, wait := p.next()
		if b != nil {
			if b.do(b.at) {
				close(b.over)
			} else {
				b.at = b.at.Add(b.every)
				p.push(b)
			}
			continue
		}
		timer.Reset(max(wait, grain))
		select {
		case <-timer.C:
		case <-p.sooner:
		case <-ctx.Done():
			return
		}
	}
}

// next takes out the next beat, if it is due, or says how long that will take.
func (p *pacer) next() (due *beat, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.beats) == 0 {
		return nil, time.Hour
	}
	if wait = time.Until(p.beats[0].at); wait > 0 {
		return nil, wait
	}
	return heap.Pop(&p.beats).(*beat), 0
}

// beats are in the order of time.
type beats []*beat

func (b beats) Len() int           { return len(b) }
func (b beats) Less(i, j int) bool { return b[i].at.Before(b[j].at) }

func (b beats) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].index, b[j].index = i, j
}

func (b *beats) Push(x any) {
	x.(*beat).index = len(*b)
	*b = append(*b, x.(*beat))
}

func (b *beats) Pop() any {
	last := len(*b) - 1
	x := (*b)[last]
	(*b)[last], *b = nil, (*b)[:last]
	x.index = -1
	return x
}
