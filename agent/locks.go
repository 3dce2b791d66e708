package agent

import (
	"sync"

	"github.com/heddle-network/heddle"
)

// The order of the locks, the first one first; who holds one takes no earlier one, and of
// one kind only one, but for links:
//
//	life of a network     nobody attaches to it while it is deleted or goes into the store
//	pods, ids             a container, an endpoint
//	works                 a network (by ID) that the kernel works for: made, changed, repaired, removed
//	reaching              the ways to other hosts
//	links                 a link that several endpoints or networks want (by name)
//	trying                a kind of network that is tried out on this kernel
//	seeing                the cluster's view that is taken up
//	leaseOps, pools, mu   tables in memory, and their records on the disk
//
// While the kernel or the store works, only locks of the one network, container, endpoint
// or link are held that it works for, so that nobody waits for what is another's; seeing
// and the last row's are never held then. What makes networks that are different keep
// clear of each other is underway.go. Some work is the whole host's, and one at a time
// for all:
//
//	reaching              the ways to other hosts are made, repaired or removed
//	trying                a trial, for all who want such a network first
//	forgetting            the host's connections are listed, behind those who asked; who
//	                      attaches waits if one of its addresses is in the list (oldFlows)
//	searching             the host's namespaces are searched (package kernel): when a
//	                      container's is not where it was, or it had a device or NIC
//	coexist.Firewalls'    another firewall's chains are read and changed (package kernel/coexist)
//	frame                 the firewall's chains, sets and members, of which networks have
//	                      some in common, are one transaction (package kernel); it asks
//	                      meanwhile who wants them, by mu

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
	l := k.use(id)
	k.mu.Unlock()
	l.Lock()
	return func() { k.unlock(id, l) }
}

// use counts a user of the lock. The caller holds mu.
func (k *KeyedLocks[K]) use(id K) *keyedLock {
	if k.locks == nil {
		k.locks = map[K]*keyedLock{}
	}
	l := k.locks[id]
	if l == nil {
		l = &keyedLock{}
		k.locks[id] = l
	}
	l.users++
	return l
}

func (k *KeyedLocks[K]) unlock(id K, l *keyedLock) {
	l.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(k.locks, id)
	}
}

// TryLock is Lock if nobody has the lock, and else returns nil.
func (k *KeyedLocks[K]) TryLock(id K) func() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.locks[id] != nil {
		return nil
	}
	l := k.use(id)
	l.Lock() // nobody else can have it
	return func() { k.unlock(id, l) }
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
