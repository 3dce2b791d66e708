package nic

import "testing"

// TestQueuePairs: there are interrupts for all slots' NICs.
func TestQueuePairs(t *testing.T) {
	for _, x := range []struct{ slots, cpus, want int }{{0, 3, 3}, {4, 1, 1}, {32, 1, 1}, {33, 1, 0}, {4, 2, 2}, {42, 2, 2}, {43, 2, 1}, {64, 2, 1}, {65, 2, 0}, {64, 8, 7}, {128, 64, 31}, {128, 4, 1}, {128, 3, 0}} {
		if got := QueuePairs(x.slots, x.cpus); got != x.want {
			t.Errorf("%d slots, %d processors: %d, want %d", x.slots, x.cpus, got, x.want)
		}
	}
	for cpus := range 20 {
		for slots := range 300 {
			if q := QueuePairs(slots, cpus); slots > 0 && q > 0 && slots*(2*q+2) > 128*cpus {
				t.Fatalf("%d slots, %d processors: %d pairs take more interrupts than there are", slots, cpus, q)
			}
		}
	}
}
