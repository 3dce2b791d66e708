package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestReadQueues: what is told of queues, with interrupts of their own, shared ones, and none.
func TestReadQueues(t *testing.T) {
	sys, proc := t.TempDir(), t.TempDir()
	write := func(root, file, text string) {
		t.Helper()
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 11 {
		write(sys, fmt.Sprintf("class/net/eth0/queues/rx-%d/rps_cpus", i), "00\n")
		write(sys, fmt.Sprintf("class/net/eth0/queues/tx-%d/xps_cpus", i), fmt.Sprintf("%x\n", 1<<i))
		write(proc, fmt.Sprintf("irq/%d/virtio7-input.%d/x", 30+i, i), "")
		write(proc, fmt.Sprintf("irq/%d/smp_affinity_list", 30+i), fmt.Sprintln(i))
	}
	write(sys, "class/net/eth0/queues/other/x", "")
	write(sys, "class/net/eth1/queues/rx-0/rps_cpus", "00000001,80000003\n")
	if err := os.Symlink("../../../virtio7", filepath.Join(sys, "class/net/eth0/device")); err != nil {
		t.Fatal(err)
	}
	all, err := readQueues(sys, proc, "eth0")
	if err != nil || len(all) != 22 {
		t.Fatalf("%v, %v", all, err)
	}
	for i, want := range map[int]string{0: "{rx-0 30 0 }", 2: "{rx-2 32 2 }", 10: "{rx-10 40 10 }", 13: "{tx-2 0  2}"} {
		if got := fmt.Sprint(all[i]); got != want {
			t.Errorf("queue %d is %s, want %s", i, got, want)
		}
	}
	if all, err = readQueues(sys, proc, "eth1"); err != nil || fmt.Sprint(all) != "[{rx-0 0  0-1,31-32}]" {
		t.Errorf("%v, %v", all, err)
	}
	if _, err = readQueues(sys, proc, "eth2"); err == nil {
		t.Error("an interface that is not there has queues")
	}
	for mask, want := range map[string]string{"f": "0-3", "0": "", "": "", "x": "", "ffffffff,ffffffff": "0-63", "5": "0,2"} {
		if got := maskList(mask); got != want {
			t.Errorf("mask %q is %q, want %q", mask, got, want)
		}
	}
}
