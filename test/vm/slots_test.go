package vm

import (
	"testing"
	"time"
)

// TestSlots takes every slot, sees the next refused at its deadline, and given once another is free.
func TestSlots(t *testing.T) {
	t.Setenv("HEDDLE_CACHE", t.TempDir())
	var frees []func()
	for range slots() {
		free, err := takeSlot(time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		frees = append(frees, free)
	}
	if _, err := takeSlot(time.Now().Add(200 * time.Millisecond)); err == nil {
		t.Error("one place more than there are")
	}
	time.AfterFunc(300*time.Millisecond, frees[0])
	free, err := takeSlot(time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for _, free := range append(frees[1:], free) {
		free()
	}
}
