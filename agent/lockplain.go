//go:build !lockorder

package agent

import "sync"

// mutex, rwMutex and keyed are the locks that have a position in the order. Built with the tag
// lockorder they check it. Without the tag they are those of package sync.
type (
	mutex[P any]               struct{ sync.Mutex }
	rwMutex[P any]             struct{ sync.RWMutex }
	keyed[P any, K comparable] struct{ KeyedLocks[K] }
)

// LockAnother is Lock for a goroutine that holds the lock of another key already.
func (k *keyed[P, K]) LockAnother(id K) func() { return k.Lock(id) }

// mustHold says that the caller holds the lock of the key. Built with the tag lockorder it checks it.
func (k *keyed[P, K]) mustHold(K) {}
