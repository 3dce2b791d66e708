package qmp

import (
	"fmt"
	"testing"
)

// TestInterrupts: NICs of a machine with more slots than its processors have interrupts for get none of their own.
func TestInterrupts(t *testing.T) {
	for _, x := range []struct {
		slots, cpus int
		vectors     float64
	}{{32, 1, 4}, {33, 1, 0}, {33, 2, 4}} {
		options := [][]string{native, {"-smp", fmt.Sprint(x.cpus)}}
		for i := range x.slots {
			options = append(options, port(fmt.Sprintf("id=slot%d,chassis=%d,multifunction=on,addr=%#x.%d,io-reserve=0", i+1, i+1, 0x1e-i/8, i%8)))
		}
		m, _ := machine(t, options...)
		must(t, m.Plug(limit(t), nic(t, "a", 1)))
		var vectors float64
		must(t, m.call(limit(t), "qom-get", map[string]string{"path": named + "/heddle-a", "property": "vectors"}, &vectors))
		if vectors != x.vectors {
			t.Errorf("%d slots, %d processors: %v vectors, want %v", x.slots, x.cpus, vectors, x.vectors)
		}
	}
}
