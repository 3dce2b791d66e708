package frames

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenQueues: a kept TAP is opened by one at a time, for as many queues as it was made for, and is as it was when that one has ended.
func TestOpenQueues(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making namespaces needs root")
	}
	runtime.LockOSThread() // and the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	kept := func(name string, born func(string) (*os.File, error)) {
		t.Helper()
		f, err := born(name)
		if err == nil {
			err = KeepTAP(f)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	kept("one", NewTAP)
	kept("many", NewMultiQueueTAP)
	for name, want := range map[string]int{"one": 1, "many": 3} {
		for range 2 {
			all, err := OpenQueues(name, 3)
			if err != nil || len(all) != want {
				t.Fatalf("%s: %d queues, %v; want %d", name, len(all), err, want)
			}
			if again, err := OpenQueues(name, 1); !errors.Is(err, unix.EBUSY) {
				t.Errorf("%s is open, and was opened again: %d queues, %v", name, len(again), err)
			}
			if want > 1 { // what a guest does not use is open all the same
				request, err := unix.NewIfreq(name)
				if err != nil {
					t.Fatal(err)
				}
				request.SetUint16(unix.IFF_DETACH_QUEUE)
				for _, f := range all {
					if err := unix.IoctlIfreq(int(f.Fd()), unix.TUNSETQUEUE, request); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := OpenQueues(name, 1); !errors.Is(err, unix.EBUSY) {
					t.Errorf("%s is open for a guest that uses no queue, and was opened again: %v", name, err)
				}
			}
			for _, f := range all {
				f.Close()
			}
		}
	}
	if _, err := OpenQueues("none", 2); !errors.Is(err, unix.ENODEV) {
		t.Errorf("what is not there was opened: %v", err)
	}
	if _, err := OpenQueues("lo", 2); err == nil {
		t.Error("the loopback was opened as a TAP")
	}
	if out, err := exec.Command("ip", "-o", "link").CombinedOutput(); err != nil || strings.Count(string(out), "\n") != 3 {
		t.Errorf("the links are, %v:\n%s", err, out)
	}
}
