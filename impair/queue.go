package impair

import (
	"container/heap"
	"sync"
	"time"
)

// maxQueue limits the number of frames that wait in a relay, in each direction.
const maxQueue = 8192

// queue holds frames until they are due.
type queue struct {
	mu    sync.Mutex
	due   frames
	count uint64
	last  time.Time     // when the last frame in order is due
	wake  chan struct{} // the next frame may be another one
}

type frame struct {
	data   []byte
	due    time.Time
	number uint64 // orders frames that are due at the same time
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// put queues a frame, or returns false if the queue is full. Later frames overtake a late one;
// all others keep their order.
func (q *queue) put(data []byte, delay time.Duration, late bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.due) >= maxQueue {
		return false
	}
	at := time.Now().Add(delay)
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
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// take waits for the next frame that is due, and returns it.
func (q *queue) take() []byte {
	for {
		q.mu.Lock()
		wait := time.Hour
		if len(q.due) > 0 {
			wait = time.Until(q.due[0].due)
			if wait <= 0 {
				f := heap.Pop(&q.due).(frame)
				q.mu.Unlock()
				return f.data
			}
		}
		q.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-q.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// frames are a heap (container/heap). The frame that is due next is on top.
type frames []frame

func (f frames) Len() int      { return len(f) }
func (f frames) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f frames) Less(i, j int) bool {
	if f[i].due.Equal(f[j].due) {
		return f[i].number < f[j].number
	}
	return f[i].due.Before(f[j].due)
}
func (f *frames) Push(v any) { *f = append(*f, v.(frame)) }
func (f *frames) Pop() any {
	last := len(*f) - 1
	v := (*f)[last]
	*f = (*f)[:last]
	return v
}
