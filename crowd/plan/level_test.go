package plan

import (
	"testing"
	"time"
)

// TestLevel: more may be open at once than 32 bits count.
func TestLevel(t *testing.T) {
	l := newLevel(3 * time.Second)
	l.add(0, time.Second, 1<<31)
	l.add(time.Second, time.Hour, 1<<31)
	l.add(2*time.Second, 2*time.Second, 1)
	for after, want := range map[int]int64{0: 1 << 32, 1: 1<<32 + 1} {
		if got := peak(after, l); got != want {
			t.Errorf("%d at once, or %d s before, and not %d", got, after, want)
		}
	}
}
