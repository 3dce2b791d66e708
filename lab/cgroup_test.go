package lab

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGroupName: labs of one path on two file systems, as in two mount namespaces, do
// not share their groups.
func TestGroupName(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount")
	}
	parent := t.TempDir()
	folder := filepath.Join(parent, "lab")
	name := groupName(folder)
	if again := groupName(folder); again != name {
		t.Errorf("%s, then %s", name, again)
	}
	if err := unix.Mount("tmpfs", parent, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(parent, 0) })
	if other := groupName(folder); other == name {
		t.Errorf("both are %s", name)
	}
}

// TestShares compares with the kernel's table (sched_prio_to_weight in kernel/sched/core.c).
func TestShares(t *testing.T) {
	for nice, want := range map[int]int{-20: 88761, -15: 29154, -10: 9548, -5: 3121, -1: 1277, 0: 1024, 1: 820, 5: 335, 10: 110, 15: 36, 19: 15} {
		if got := shares(nice); math.Abs(float64(got-want)) > float64(want)/100 {
			t.Errorf("niceness %d: %d, want %d within a hundredth", nice, got, want)
		}
	}
}
