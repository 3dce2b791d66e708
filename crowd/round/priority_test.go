package round

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// TestGoAhead: all threads go ahead, and all of them back, also those that begin meanwhile.
func TestGoAhead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("to be less nice needs root")
	}
	if _, _, err := syscall.AllThreadsSyscall(syscall.SYS_GETPID, 0, 0, 0); err == syscall.ENOTSUP {
		t.Skip("with cgo, as the race detector has it, a program does not go ahead")
	}
	all := func(want int) {
		t.Helper()
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range threads {
			number, err := strconv.Atoi(one.Name())
			if err != nil {
				t.Fatal(err)
			}
			if now, err := niceness(number); now != want || err != nil {
				t.Errorf("a thread is %d, and not %d: %v", now, want, err)
			}
		}
	}
	nice, err := niceness(0)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		end := make(chan struct{})
		var threads sync.WaitGroup
		more := func() {
			for range 50 {
				threads.Go(func() {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					<-end
				})
			}
		}
		threads.Go(more)
		back := goAhead(nice)
		all(max(-20, nice-Ahead))
		more()
		back()
		all(nice)
		close(end)
		threads.Wait()
	}
}
