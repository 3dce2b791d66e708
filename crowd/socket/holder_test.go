package socket

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestHolder: namespaces take no open file, nobody else sees their mounts, and all end with their holder.
func TestHolder(t *testing.T) {
	h := holder(t)
	first := namespace(t, h)
	before := openFiles(t)
	var all []string
	for range 20 {
		n := namespace(t, h)
		to, err := os.Readlink(n.Path()) // a mount is no link
		if err == nil {
			t.Fatalf("%s leads to %s", n.Path(), to)
		}
		all = append(all, n.Path())
	}
	if now := openFiles(t); now > before {
		t.Errorf("%d files were open, and %d are", before, now)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo") // which is that of the first thread
	if err != nil || strings.Contains(string(mounts), "heddle-crowd") {
		t.Errorf("everybody sees the mounts: %v", err)
	}
	if err := first.Do(func() error { return nil }); err != nil {
		t.Error(err)
	}
	h.Close()
	for _, path := range all {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if err := first.Do(func() error { return nil }); err == nil {
		t.Error("a namespace is entered after its holder was closed")
	}
	if _, err := h.New(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a namespace is made after its holder was closed: %v", err)
	}
}

// TestCloseMeanwhile: a holder is closed while namespaces are made and entered.
func TestCloseMeanwhile(t *testing.T) {
	for range 10 {
		h := holder(t)
		first := namespace(t, h)
		var busy sync.WaitGroup
		for range 4 {
			busy.Go(func() {
				for {
					if _, err := h.New(); err != nil {
						if !errors.Is(err, os.ErrClosed) {
							t.Error(err)
						}
						return
					}
				}
			})
			busy.Go(func() {
				for {
					if err := first.Do(func() error { return nil }); err != nil {
						return
					}
				}
			})
		}
		h.Close()
		busy.Wait()
	}
}

// TestFirstThread: the process's first thread is never a holder's, wherever the holder begins.
func TestFirstThread(t *testing.T) {
	holder(t).Close() // needs root; one that goes on may keep that thread
	first, end := make(chan struct{}), make(chan struct{})
	h := newHolder()
	started := make(chan error)
	begin := func() {
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			<-end // so that the next one has another thread
			return
		}
		close(first)
		runtime.UnlockOSThread()
		h.run((*Holder).mountApart, started)
	}
	there := func() bool {
		select {
		case <-first:
			return true
		case <-time.After(time.Millisecond):
			return false
		}
	}
	defer close(end)
	for tries := 0; !there(); tries++ {
		if tries == 2000 {
			t.Fatal("nothing runs on the first thread")
		}
		go begin()
	}
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if h.path == fmt.Sprintf("/proc/%d/task/%d/root%s", os.Getpid(), os.Getpid(), folderApart) {
		t.Error("it is")
	}
	if _, err := h.New(); err != nil {
		t.Error(err)
	}
}

// TestLeavesOthers: what somebody else unmounts does not stay with the holder.
func TestLeavesOthers(t *testing.T) {
	holder(t) // needs root
	name := fmt.Sprintf("heddle-socket-%d", os.Getpid())
	does := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	does("ip", "netns", "add", name) // in a folder whose mounts are shared
	t.Cleanup(func() { exec.Command("ip", "netns", "delete", name).Run() })
	h := holder(t)
	has := func() bool {
		mounts, err := os.ReadFile(strings.TrimSuffix(h.path, "root"+folderApart) + "mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(mounts), name)
	}
	if !has() {
		t.Error("the holder's thread does not see it at first")
	}
	does("umount", "/run/netns/"+name)
	if has() {
		t.Error("the holder still has it")
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestHold: a namespace that somebody else made is held beyond that one's end.
func TestHold(t *testing.T) {
	h, other := holder(t), holder(t)
	theirs := namespace(t, other)
	ours, err := h.Hold(theirs.Path())
	if err != nil {
		t.Fatal(err)
	}
	id := func(n Namespace) (at string) {
		t.Helper()
		if err := n.Do(func() (err error) { at, err = os.Readlink("/proc/thread-self/ns/net"); return err }); err != nil {
			t.Fatal(err)
		}
		return at
	}
	want := id(theirs)
	other.Close()
	if got := id(ours); got != want {
		t.Errorf("it is %s, not %s", got, want)
	}
	if err := Drop(ours); err != nil {
		t.Error(err)
	}
	if err := ours.Do(func() error { return nil }); err == nil {
		t.Error("it is held after it was dropped")
	}
	if _, err := h.Hold(theirs.Path()); err == nil {
		t.Error("what is not there is held")
	}
}

// TestHolderIn: programs in another host find the namespaces by their paths, though its /proc is that of other processes, and
// nothing is left there.
func TestHolderIn(t *testing.T) {
	holder(t).Close() // needs root
	there := exec.Command("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--propagation", "private", "sh", "-c", "mount -t tmpfs run /run && echo ready && exec sleep 600")
	there.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := there.StdoutPipe()
	if err == nil {
		err = there.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { there.Process.Kill(); there.Wait() })
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", there.Process.Pid))
	host := strings.TrimSpace(string(children))
	if err != nil || host == "" {
		t.Fatalf("%q, %v", host, err)
	}
	t.Cleanup(func() { exec.Command("kill", "-KILL", host).Run() })
	asks := func(program ...string) string {
		out, _ := exec.Command("nsenter", append([]string{"--target", host, "--mount", "--pid", "--"}, program...)...).CombinedOutput()
		return strings.TrimSpace(string(out))
	}
	mounts := "/proc/" + host + "/ns/mnt"
	h, err := NewHolderIn(mounts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	if _, err := NewHolderIn(mounts); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	var all []Namespace
	for range 2 {
		n, err := h.New()
		if err != nil {
			t.Fatal(err)
		}
		var id string
		if err := n.Do(func() (err error) { id, err = os.Readlink("/proc/thread-self/ns/net"); return err }); err != nil {
			t.Fatal(err)
		}
		if got := asks("nsenter", "--net="+n.Path(), "readlink", "/proc/self/ns/net"); got != id {
			t.Errorf("the host finds %s, and it is %s", got, id)
		}
		if _, err := os.Stat(n.Path()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is here, too: %v", n.Path(), err)
		}
		all = append(all, n)
	}
	if err := Drop(all[0]); err != nil {
		t.Error(err)
	}
	if left := asks("ls", folderThere); left != "2" {
		t.Errorf("left are %q", left)
	}
	h.Close()
	if left := asks("ls", "/run"); left != "" || strings.Contains(asks("cat", "/proc/self/mounts"), "heddle-crowd") {
		t.Errorf("left are %q", left)
	}
}
