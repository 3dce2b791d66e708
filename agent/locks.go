package agent

import (
	"sync"

	"github.com/heddle-network/heddle"
)

// KeyedLocks is one mutex per key (an endpoint, a container, a call), so that two calls
// about the same one wait for each other and others do not.
type KeyedLocks[K comparable] struct {
	mu    sync.Mutex
	locks map[K]*keyedLock
}

type keyedLock struct {
	sync.Mutex
	users int
}

// Lock returns the function that unlocks.
func (k *KeyedLocks[K]) Lock(id K) func() {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[K]*keyedLock{}
	}
	l := k.locks[id]
	if l == nil {
		l = &keyedLock{}
		k.locks[id] = l
	}
	l.users++
	k.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.locks, id)
		}
	}
}

// slots hands out ordinals, the lowest free one first.
type slots struct {
	used []bool
	from int // no slot below is free
}

func (s *slots) take() int {
	for i := s.from; i < len(s.used); i++ {
		if !s.used[i] {
			s.used[i], s.from = true, i+1
			return i
		}
	}
	s.used = append(s.used, true)
	s.from = len(s.used)
	return len(s.used) - 1
}

func (s *slots) mark(i int) {
	for len(s.used) <= i {
		s.used = append(s.used, false)
	}
	s.used[i] = true
}

func (s *slots) give(i int) {
	if i < len(s.used) {
		s.used[i] = false
		s.from = min(s.from, i)
	}
}

// wanted counts, for every object key on the host's side, the plans that want
// it. It is derived from the plans and never stored.
type wanted map[string]int

func (w wanted) add(s heddle.State) {
	for _, o := range s.Objects() {
		w[o.Key()]++
	}
}

func (w wanted) remove(s heddle.State) {
	for _, o := range s.Objects() {
		if w[o.Key()]--; w[o.Key()] <= 0 {
			delete(w, o.Key())
		}
	}
}
