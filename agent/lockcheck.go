//go:build lockorder

package agent

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"sync"
)

// In this build, a lock panics if the goroutine that takes it holds one that is later in the
// order, or another one of the same kind; and so does who needs a lock that is not held.

type mutex[P any] struct{ m sync.Mutex }

func (l *mutex[P]) Lock()   { take[P](nil, false); l.m.Lock() }
func (l *mutex[P]) Unlock() { l.m.Unlock(); leave[P](nil) }

type rwMutex[P any] struct{ m sync.RWMutex }

func (l *rwMutex[P]) Lock()    { take[P](nil, false); l.m.Lock() }
func (l *rwMutex[P]) Unlock()  { l.m.Unlock(); leave[P](nil) }
func (l *rwMutex[P]) RLock()   { take[P](nil, false); l.m.RLock() }
func (l *rwMutex[P]) RUnlock() { l.m.RUnlock(); leave[P](nil) }

// TryLock does not wait, so the order does not apply to it.
func (l *rwMutex[P]) TryLock() bool {
	got := l.m.TryLock()
	if got {
		note[P](nil)
	}
	return got
}

type keyed[P any, K comparable] struct{ m KeyedLocks[K] }

// Lock returns the function that unlocks.
func (k *keyed[P, K]) Lock(id K) func() { return k.lock(id, false) }

// LockAnother is Lock for a goroutine that holds the lock of another key already.
func (k *keyed[P, K]) LockAnother(id K) func() { return k.lock(id, true) }

func (k *keyed[P, K]) lock(id K, another bool) func() {
	take[P](id, another)
	unlock := k.m.Lock(id)
	return func() { unlock(); leave[P](id) }
}

// TryLock does not wait, so the order does not apply to it.
func (k *keyed[P, K]) TryLock(id K) func() {
	unlock := k.m.TryLock(id)
	if unlock == nil {
		return nil
	}
	note[P](id)
	return func() { unlock(); leave[P](id) }
}

// mustHold panics if the calling goroutine does not hold the lock of the key.
func (k *keyed[P, K]) mustHold(id K) {
	p := positionOf[P](id)
	me := goroutine()
	held.Lock()
	defer held.Unlock()
	if !slices.Contains(held.by[me], p) {
		panic(fmt.Sprintf("%s of %v is not held", p.name, id))
	}
}

// position is a lock's position in the order, with its name; for a lock of many keys, the key too.
type position struct {
	at   int
	name string
	key  any
}

func positionOf[P any](key any) position {
	p := reflect.TypeFor[P]()
	return position{p.Len(), p.Name(), key}
}

// held are the positions of the locks that each goroutine holds, by the goroutine's number.
var held = struct {
	sync.Mutex
	by map[uint64][]position
}{by: map[uint64][]position{}}

// take notes that a lock is about to be taken. It panics if that is against the order.
func take[P any](key any, another bool) {
	p := positionOf[P](key)
	me := goroutine()
	held.Lock()
	defer held.Unlock()
	for _, q := range held.by[me] {
		if q.at > p.at || q.at == p.at && !another {
			panic(fmt.Sprintf("against the order of the locks: %s is taken by who holds %s", p.name, q.name))
		}
	}
	held.by[me] = append(held.by[me], p)
}

// note is take without the check.
func note[P any](key any) {
	me := goroutine()
	held.Lock()
	defer held.Unlock()
	held.by[me] = append(held.by[me], positionOf[P](key))
}

// leave notes that a lock is released. It panics if another goroutine has taken it: that one would
// seem to hold it for ever.
func leave[P any](key any) {
	p := positionOf[P](key)
	me := goroutine()
	held.Lock()
	defer held.Unlock()
	all := held.by[me]
	i := slices.Index(all, p)
	if i < 0 {
		panic(fmt.Sprintf("%s is given back by who did not take it", p.name))
	}
	if held.by[me] = slices.Delete(all, i, i+1); len(all) == 1 {
		delete(held.by, me)
	}
}

// goroutine returns the number of the calling goroutine, from its stack trace: "goroutine 7 [".
func goroutine() uint64 {
	var trace [64]byte
	_, rest, _ := bytes.Cut(trace[:runtime.Stack(trace[:], false)], []byte(" "))
	number, _, _ := bytes.Cut(rest, []byte(" "))
	n, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
