package agent

import "sync"

// KeyedLocks has a mutex for each key (an endpoint, a container, a call): calls with the same key
// wait for each other, others do not.
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
	l := k.useLocked(id)
	k.mu.Unlock()
	l.Lock()
	return func() { k.unlock(id, l) }
}

// useLocked counts a user of the lock.
func (k *KeyedLocks[K]) useLocked(id K) *keyedLock {
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

// TryLock is Lock if nobody holds the lock. Otherwise it returns nil.
func (k *KeyedLocks[K]) TryLock(id K) func() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.locks[id] != nil {
		return nil
	}
	l := k.useLocked(id)
	l.Lock() // does not wait: the lock is new
	return func() { k.unlock(id, l) }
}
