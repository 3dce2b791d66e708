package ipam

import (
	"container/list"
	"net/netip"
	"slices"
	"time"
)

// queue holds the freed addresses in the order of time. Taking the oldest, adding one, and removing
// one from the middle take constant time, whatever the length.
type queue struct {
	order list.List // of freed, oldest first
	where map[netip.Addr]*list.Element
	// jumbled says that restored entries must be sorted before use: sorting once is cheaper than
	// inserting each at its position.
	jumbled bool
}

type freed struct {
	addr  netip.Addr
	since time.Time
}

func newQueue() queue { return queue{where: map[netip.Addr]*list.Element{}} }

func (q *queue) has(a netip.Addr) bool { return q.where[a] != nil }

// add appends an address that is freed now. If the clock was set back, the address still comes
// after those that were freed before.
func (q *queue) add(a netip.Addr, now time.Time) {
	q.settle()
	if e := q.order.Back(); e != nil && now.Before(e.Value.(freed).since) {
		now = e.Value.(freed).since
	}
	q.where[a] = q.order.PushBack(freed{a, now})
}

// restore adds an address that was freed at the given time.
func (q *queue) restore(a netip.Addr, since time.Time) {
	q.remove(a)
	if e := q.order.Back(); e != nil && since.Before(e.Value.(freed).since) {
		q.jumbled = true
	}
	q.where[a] = q.order.PushBack(freed{a, since})
}

func (q *queue) remove(a netip.Addr) {
	if e := q.where[a]; e != nil {
		q.order.Remove(e)
		delete(q.where, a)
	}
}

// oldest returns the address that was freed first, without removing it.
func (q *queue) oldest() (netip.Addr, bool) {
	q.settle()
	e := q.order.Front()
	if e == nil {
		return netip.Addr{}, false
	}
	return e.Value.(freed).addr, true
}

// freedAfter counts the addresses freed after t.
func (q *queue) freedAfter(t time.Time) uint64 {
	q.settle()
	var count uint64
	for e := q.order.Back(); e != nil && e.Value.(freed).since.After(t); e = e.Prev() {
		count++
	}
	return count
}

func (q *queue) settle() {
	if !q.jumbled {
		return
	}
	var all []freed
	for e := q.order.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(freed))
	}
	slices.SortStableFunc(all, func(x, y freed) int { return x.since.Compare(y.since) })
	q.order.Init()
	for _, f := range all {
		q.where[f.addr] = q.order.PushBack(f)
	}
	q.jumbled = false
}
