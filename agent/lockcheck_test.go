//go:build lockorder

package agent

import (
	"fmt"
	"strings"
	"testing"
)

// TestLockOrder: a goroutine that takes locks against the order panics, and the message names
// both.
func TestLockOrder(t *testing.T) {
	var (
		early mutex[atHostPathsUpdate]
		late  rwMutex[atNetworks]
		ids   keyed[atIDs, string]
	)
	tries := func(do func()) (why string) {
		defer func() {
			if cause := recover(); cause != nil {
				why = fmt.Sprint(cause)
			}
		}()
		do()
		return ""
	}
	inOrder := func() {
		early.Lock()
		late.RLock()
		late.RUnlock()
		early.Unlock()
	}
	if why := tries(inOrder); why != "" {
		t.Errorf("in order: %s", why)
	}
	late.Lock()
	why := tries(inOrder)
	if !strings.Contains(why, "atHostPathsUpdate") || !strings.Contains(why, "atNetworks") {
		t.Errorf("against the order: %q", why)
	}
	free := make(chan string)
	var other mutex[atHostPathsUpdate]
	go func() { free <- tries(func() { other.Lock(); other.Unlock() }) }()
	if why := <-free; why != "" {
		t.Errorf("by another goroutine: %s", why)
	}
	if unlock := ids.TryLock("c"); unlock == nil {
		t.Error("a try against the order fails")
	} else {
		unlock()
	}
	late.Unlock()
	first := ids.Lock("a")
	if why := tries(func() { ids.Lock("b") }); !strings.Contains(why, "atIDs") {
		t.Errorf("two of a kind: %q", why)
	}
	if why := tries(func() { ids.LockAnother("b")() }); why != "" {
		t.Errorf("another of a kind, as is allowed: %s", why)
	}
	if why := tries(func() { ids.mustHold("a") }); why != "" {
		t.Errorf("what is held: %s", why)
	}
	if why := tries(func() { ids.mustHold("b") }); !strings.Contains(why, "atIDs of b is not held") {
		t.Errorf("what is not held: %q", why)
	}
	first()
	if why := tries(inOrder); why != "" || len(held.by) > 0 {
		t.Errorf("afterwards: %q, held %v", why, held.by)
	}
}
