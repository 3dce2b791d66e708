package qmp

import (
	"fmt"
	"testing"
)

// TestOnePair: a NIC of one pair of queues has what QEMU gives it, as its machine's type and its operator have it.
func TestOnePair(t *testing.T) {
	m, _ := machine(t, native, port("id=slot1,chassis=1"), []string{"-global", "virtio-net-pci.vectors=3"})
	must(t, m.Plug(limit(t), nic(t, "a", 1)))
	var vectors float64
	must(t, m.call(limit(t), "qom-get", map[string]string{"path": named + "/heddle-a", "property": "vectors"}, &vectors))
	if vectors != 3 {
		t.Errorf("it has %v vectors, want 3", vectors)
	}
}

// TestInterrupts: NICs of a machine with more slots than its processors have interrupts for get none of their own.
func TestInterrupts(t *testing.T) {
	for _, x := range []struct {
		slots, cpus, queues int
		vectors             float64
	}{{32, 1, 1, 4}, {33, 1, 1, 0}, {33, 2, 2, 6}, {43, 2, 1, 4}, {4, 4, 4, 10}} {
		options := [][]string{native, {"-smp", fmt.Sprint(x.cpus)}}
		for i := range x.slots {
			options = append(options, port(fmt.Sprintf("id=slot%d,chassis=%d,multifunction=on,addr=%#x.%d,io-reserve=0", i+1, i+1, 0x1e-i/8, i%8)))
		}
		m, _ := machine(t, options...)
		queues, err := m.Queues(limit(t))
		if must(t, err); queues != x.queues {
			t.Errorf("%d slots, %d processors: %d pairs of queues, want %d", x.slots, x.cpus, queues, x.queues)
		}
		n := nic(t, "a", 1)
		n.TAPs = taps(t, queues)
		must(t, m.Plug(limit(t), n))
		var vectors float64
		must(t, m.call(limit(t), "qom-get", map[string]string{"path": named + "/heddle-a", "property": "vectors"}, &vectors))
		if vectors != x.vectors {
			t.Errorf("%d slots, %d processors: %v vectors, want %v", x.slots, x.cpus, vectors, x.vectors)
		}
		var several bool
		must(t, m.call(limit(t), "qom-get", map[string]string{"path": named + "/heddle-a", "property": "mq"}, &several))
		if several != (queues > 1) {
			t.Errorf("%d pairs of queues: mq is %v", queues, several)
		}
		for i := range queues { // QEMU has taken each file
			if m.call(limit(t), "closefd", map[string]string{"fdname": fmt.Sprint("heddle-a-", i)}, nil) == nil {
				t.Errorf("of %d pairs of queues, file %d was left over", queues, i)
			}
		}
	}
}
