package play

import (
	"cmp"
	"slices"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
)

// queue has the sessions that have not begun, in the order of time.
type queue struct{ starts []plan.Start }

// next is when the next session begins; ok is false if there is none.
func (q *queue) next() (at time.Duration, ok bool) {
	if len(q.starts) == 0 {
		return 0, false
	}
	return q.starts[0].At, true
}

// pop takes out the next session.
func (q *queue) pop() plan.Start {
	first := q.starts[0]
	q.starts = q.starts[1:]
	return first
}

// due is how many should have begun at a time.
func (q *queue) due(now time.Duration) int {
	n, _ := slices.BinarySearchFunc(q.starts, now+1, func(s plan.Start, at time.Duration) int { return cmp.Compare(s.At, at) })
	return n
}

// add adds sessions that begin at a time or later, and returns those. They are in the order of time.
func (q *queue) add(starts []plan.Start, from time.Duration) []plan.Start {
	i, _ := slices.BinarySearchFunc(starts, from, func(s plan.Start, at time.Duration) int { return cmp.Compare(s.At, at) })
	added, old := starts[i:], q.starts
	q.starts = make([]plan.Start, 0, len(old)+len(added))
	for _, s := range added {
		n := 0
		for n < len(old) && old[n].At <= s.At {
			n++
		}
		q.starts, old = append(append(q.starts, old[:n]...), s), old[n:]
	}
	q.starts = append(q.starts, old...)
	return added
}

// drop takes out the sessions of users above the last one, and returns them.
func (q *queue) drop(last int) (dropped []plan.Start) {
	var stay []plan.Start
	for _, s := range q.starts {
		if int(s.User) > last {
			dropped = append(dropped, s)
		} else {
			stay = append(stay, s)
		}
	}
	q.starts = stay
	return dropped
}
