package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// threadNamespaces counts the network namespaces that the process's threads
// are in.
func threadNamespaces(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{}
	paths, err := filepath.Glob("/proc/self/task/*/ns/net")
	cell.Must(t, err)
	for _, p := range paths {
		if ns, err := os.Readlink(p); err == nil { // a thread may have ended
			all[ns]++
		}
	}
	return all
}

// Ten thousand visits leave every thread where it was.
func TestDoManyTimes(t *testing.T) {
	one, two := openNetns(t, newNetns(t, "do")), openNetns(t, newNetns(t, "do"))
	var group sync.WaitGroup
	for worker := range 10 {
		group.Go(func() {
			for i := range 1000 {
				n := []*Netns{one, two}[(worker+i)%2]
				err := n.Do(func() error {
					var st unix.Stat_t
					if err := unix.Stat("/proc/thread-self/ns/net", &st); err != nil {
						return err
					}
					if st.Ino != n.Inode() {
						return fmt.Errorf("in namespace %d instead of %d", st.Ino, n.Inode())
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if all := threadNamespaces(t); len(all) != 1 {
		t.Errorf("threads are in %v", all)
	}
}

// Only network namespaces are opened.
func TestOpenNetns(t *testing.T) {
	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
	cell.Must(t, os.WriteFile(file, nil, 0o644))
	cell.Must(t, unix.Mkfifo(fifo, 0o644))
	for _, path := range []string{"", "/nowhere", dir, file, fifo, "/proc/self/ns/mnt", "/proc/self/status"} {
		n, err := OpenNetns(path)
		if !errors.Is(err, heddle.BadNamespace.Sentinel()) {
			t.Errorf("%q: %v, %v", path, n, err)
		}
	}
	r := newRoom(t)
	if r.k.IsOwn(r.podNS) || !r.k.IsOwn(openNetns(t, r.host)) {
		t.Error("the host's own namespace is not told from the container's")
	}
	if seen, err := r.podNS.FindIndex(4711); seen != nil || err != nil {
		t.Errorf("%v, %v", seen, err)
	}
}

// The error of a goroutine, or its end, is returned to the caller.
func TestDoReturns(t *testing.T) {
	n := openNetns(t, newNetns(t, "do"))
	if err := n.Do(func() error { return errInjected }); !errors.Is(err, errInjected) {
		t.Error(err)
	}
	closed := *n
	closed.fd = -1
	if err := closed.Do(func() error { return nil }); !errors.Is(err, heddle.BadNamespace.Sentinel()) {
		t.Error(err)
	}
}
