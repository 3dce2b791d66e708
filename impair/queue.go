package impair

import (
	"container/heap"
	"sync"
	"time"
)

// maxQueue limits the number of frames that wait in a relay, in each direction.
const maxQueue = 8192

// Frames wait for a rate as long as queueTime and a round trip on the link, or as long as leastQueue full frames take.
const (
	queueTime  = 50 * time.Millisecond
	leastQueue = 10
	fullFrame  = 1514 // bytes
)

// queue holds frames until they are due.
type queue struct {
	mu     sync.Mutex
	due    waiting
	count  uint64
	last   time.Time     // when the last frame in order is due
	wake   chan struct{} // the next frame may be another one
	closed bool

	rate Rate          // 0 is unlimited
	free time.Time     // when the last frame will have left at the rate
	room time.Duration // how long a frame may wait for the rate
}

type frame struct {
	data   []byte
	due    time.Time
	number uint64 // orders frames that are due at the same time
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// pace limits the rate at which frames leave, on a link with that delay.
func (q *queue) pace(r Rate, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rate, q.free, q.room = Rate(r.Bits()), time.Time{}, 0
	if q.rate > 0 {
		q.room = max(queueTime+2*delay, q.takes(leastQueue*fullFrame))
	}
}

// takes is how long the rate takes for so many bytes.
func (q *queue) takes(bytes int) time.Duration {
	return time.Duration(float64(bytes*8) / float64(q.rate) * float64(time.Second))
}

// put queues a frame that arrived at a time, or returns false if the queue is full. Later frames overtake a late one;
// all others keep their order.
func (q *queue) put(data []byte, at time.Time, delay time.Duration, late bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.due) >= maxQueue || q.free.Sub(at) > q.room {
		return false
	}
	if q.rate > 0 {
		if at.Before(q.free) {
			at = q.free
		}
		at = at.Add(q.takes(len(data) - HeaderSize))
		q.free = at
	}
	at = at.Add(delay)
	if late {
		at = at.Add(ReorderDelay)
	} else {
		if at.Before(q.last) {
			at = q.last
		}
		q.last = at
	}
	q.count++
	heap.Push(&q.due, frame{data, at, q.count})
	q.look()
	return true
}

// look has take look again.
func (q *queue) look() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close ends take.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.look()
}

// take waits for the next frame that is due, and returns it, unless the queue is closed.
func (q *queue) take() (next frame, open bool) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			return frame{}, false
		}
		wait := time.Hour
		if len(q.due) > 0 {
			wait = time.Until(q.due[0].due)
			if wait <= 0 {
				f := heap.Pop(&q.due).(frame)
				q.mu.Unlock()
				return f, true
			}
		}
		q.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-q.wake:
		case <-timer.C:
		}
	}
}

// waiting is a heap of frames (container/heap). The frame that is due next is on top.
type waiting []frame

func (w waiting) Len() int      { return len(w) }
func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w waiting) Less(i, j int) bool {
	if w[i].due.Equal(w[j].due) {
		return w[i].number < w[j].number
	}
	return w[i].due.Before(w[j].due)
}
func (w *waiting) Push(v any) { *w = append(*w, v.(frame)) }
func (w *waiting) Pop() any {
	last := len(*w) - 1
	v := (*w)[last]
	(*w)[last] = frame{} // its data may go
	*w = (*w)[:last]
	return v
}
