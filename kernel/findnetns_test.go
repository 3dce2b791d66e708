package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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

// TestMountOfThread: a namespace is found that only one thread of a process has mounted.
func TestMountOfThread(t *testing.T) {
	newNetns(t, "any") // needs root
	dir := t.TempDir()
	made, end, ended := make(chan *Netns), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(made)
		runtime.LockOSThread() // and never to be unlocked
		n, err := mountAlone(dir)
		if err != nil {
			t.Error(err)
			return
		}
		made <- n
		<-end
		unix.Unmount(dir, unix.MNT_DETACH)
	}()
	n := <-made
	if n == nil {
		return
	}
	cookie, err := n.Cookie()
	cell.Must(t, err)
	n.Close()
	found, err := FindNetns(n.Inode(), cookie)
	if found == nil || err != nil {
		t.Errorf("found: %v, %v", found, err)
	} else {
		found.Close()
	}
	close(end)
	<-ended
	if found, err := FindNetns(n.Inode(), cookie); found != nil || err != nil {
		t.Errorf("found after its end: %v, %v", found, err)
	}
}

// TestThreadEndsMeanwhile: a namespace is found through the mounts of another thread, if the one that was followed ends.
func TestThreadEndsMeanwhile(t *testing.T) {
	newNetns(t, "any") // needs root
	type thread struct {
		path string
		end  chan struct{}
	}
	var n *Netns
	made := make(chan thread)
	threadOf := func(begin func() error) thread {
		go onOwnThread(func() {
			if err := begin(); err != nil {
				t.Error(err)
			}
			one := thread{fmt.Sprintf("/proc/%d/task/%d", os.Getpid(), unix.Gettid()), make(chan struct{})}
			made <- one
			<-one.end
		})
		return <-made
	}
	dir := t.TempDir()
	first := threadOf(func() (err error) {
		n, err = mountAlone(dir)
		return err
	})
	second := threadOf(func() error {
		at, err := unix.Open(first.path+"/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(at)
		return errors.Join(unix.Unshare(unix.CLONE_FS), unix.Setns(at, unix.CLONE_NEWNS))
	})
	both := map[string]thread{first.path: first, second.path: second}
	if n != nil {
		defer n.Close()
		ways(func(name, path string) bool {
			for p, one := range both {
				if name == fmt.Sprintf("net:[%d]", n.ino) && strings.HasPrefix(path, p+"/root/") {
					delete(both, p)
					close(one.end)
					poll.For(t, time.Minute, time.Millisecond, "the thread has ended", func() bool {
						_, err := os.Stat(p)
						return err != nil
					})
				}
			}
			return true
		})
		if len(both) > 0 {
			t.Errorf("the mounts of %v were not looked through", both)
		}
	}
	for _, one := range both {
		close(one.end)
	}
}

// onOwnThread runs a function on a thread that ends with it. The first one of a process cannot end.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		onOwnThread(f)
	}()
	<-done
	runtime.UnlockOSThread()
}

// mountAlone makes a namespace, and mounts it over dir where only this thread sees it.
func mountAlone(dir string) (*Netns, error) {
	home, err := OpenNetns("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer home.Close()
	at := filepath.Join(dir, "net")
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return nil, err // before the host's mounts are changed
	}
	if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("tmpfs", dir, "tmpfs", 0, ""),
		os.WriteFile(at, nil, 0), unix.Unshare(unix.CLONE_NEWNET), unix.Mount("/proc/thread-self/ns/net", at, "", unix.MS_BIND, "")); err != nil {
		return nil, err
	}
	n, err := OpenNetns(at)
	return n, errors.Join(err, unix.Setns(home.fd, unix.CLONE_NEWNET))
}
