package kernel

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// TestHungWay: a path through a file system that does not answer is followed once, and again when
// that attempt has ended.
func TestHungWay(t *testing.T) {
	newNetns(t, "any") // needs root
	fuse, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no FUSE: ", err)
	}
	dir := t.TempDir()
	cell.Must(t, unix.Mount("silent", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse)))
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	path := filepath.Join(dir, "net")
	for range 3 {
		if openInTime(path) != nil {
			t.Fatal("nobody has answered")
		}
	}
	slowPaths.mu.Lock()
	under := slowPaths.count[path]
	slowPaths.mu.Unlock()
	if under != 1 {
		t.Errorf("it is followed %d times", under)
	}
	unix.Close(fuse)
	poll.For(t, time.Minute, 10*time.Millisecond, "it is followed no more", func() bool { return !slowPaths.has(path) })
}

// TestHungMount: if one mounted namespace hangs, the other mounts there are not tried.
func TestHungMount(t *testing.T) {
	newNetns(t, "one")
	newNetns(t, "two")
	count := func(hangs bool) (n int) {
		mounted("/proc/self", func(_, path string) bool {
			n++
			if hangs {
				slowPaths.begin(path)
				t.Cleanup(func() { slowPaths.end(path) })
			}
			return true
		})
		return n
	}
	if n := count(false); n < 2 {
		t.Fatalf("%d mounted namespaces", n)
	}
	if n := count(true); n != 1 {
		t.Errorf("%d were tried though the first hangs", n)
	}
}

// TestRoomToLook: if hardly any more files can be opened, a search fails, and does not report that
// nothing is there.
func TestRoomToLook(t *testing.T) {
	newNetns(t, "any") // needs root
	all, err := allNamespaces()
	cell.Must(t, err)
	all.close()
	var limit unix.Rlimit
	cell.Must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	low := limit
	low.Cur = uint64(len(entries("/proc/self/fd"))) + spareFiles/2
	cell.Must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	if all, err := allNamespaces(); err == nil {
		all.close()
		t.Error("a search of everything says that it was whole")
	}
	if n, err := FindNetns(1, 1); n != nil || err == nil {
		t.Errorf("a search for one: %v, %v", n, err)
	}
	cell.Must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	if n, err := FindNetns(1, 1); n != nil || err != nil {
		t.Errorf("a search for one with room: %v, %v", n, err)
	}
}
