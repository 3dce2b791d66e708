// Package socket opens sockets in other network namespaces. A socket stays in the namespace in which it was made,
// so a process with thousands of users enters the namespace of one of them for that moment alone
// (network_namespaces(7)).
package socket

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Holder makes network namespaces, and holds them. Each is mounted in a mount namespace that only one thread of this
// process has (mount_namespaces(7)): so they take none of the files that a process may have open, have no name that
// others see, and end with the process. Close ends the holder.
type Holder struct {
	// path is where all processes find the folder of the mounts, and folder is its open file.
	path   string
	folder *os.File
	made   atomic.Int64
	// work is what the thread does until stop is closed; ended is closed when it has ended.
	work    chan func()
	closing sync.Once
	stop    chan struct{}
	ended   chan struct{}
}

// held is the folder over which the thread mounts its own. Every host has it, and it is no symbolic link: whoever opens
// the path follows an absolute one from the own root. The thread needs nothing that is there.
const held = "/sys"

// NewHolder starts the thread. It needs CAP_SYS_ADMIN.
func NewHolder() (*Holder, error) {
	h := &Holder{work: make(chan func()), stop: make(chan struct{}), ended: make(chan struct{})}
	started := make(chan error)
	go h.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return h, nil
}

// run is the thread. It never serves anything else, since it cannot return to the mount namespace from which it came.
func (h *Holder) run(started chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() { // others take the first thread's namespaces for those of the process
		go h.run(started)
		<-h.ended
		runtime.UnlockOSThread()
		return
	}
	defer close(h.ended)
	if err := h.mount(); err != nil {
		started <- err
		return
	}
	started <- nil
	for {
		select {
		case do := <-h.work:
			do()
		case <-h.stop:
			h.folder.Close()
			unix.Unmount(held, unix.MNT_DETACH) // and with it all that is mounted there
			return
		}
	}
}

// mount gives the thread its mount namespace.
func (h *Holder) mount() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	h.path = fmt.Sprintf("/proc/%d/task/%d/root%s", os.Getpid(), unix.Gettid(), held)
	// What others unmount goes here, too: otherwise file systems of the host would stay in use.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts from others: %w", err)
	}
	if err := unix.Mount("heddle-crowd", held, "tmpfs", 0, "mode=0700"); err != nil {
		return fmt.Errorf("mount tmpfs over %s: %w", held, err)
	}
	var err error
	h.folder, err = os.Open(held)
	return err
}

// New makes a namespace, in which loopback is down. After Close, the error is os.ErrClosed.
func (h *Holder) New() (Namespace, error) {
	n := Namespace{h, strconv.FormatInt(h.made.Add(1), 10)}
	var file *os.File
	err := apart(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: %w", err)
		}
		file, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	if err != nil {
		return n, err
	}
	defer file.Close()
	return n, h.keep(n, file)
}

// hold mounts a namespace.
func hold(namespace *os.File, at string) error {
	f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL, 0)
	if err != nil {
		return err
	}
	f.Close()
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", namespace.Fd()), at, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("hold a network namespace by a mount: %w", err)
	}
	return nil
}

// Drop lets go of namespaces of the holder. Each ends when nothing else uses it: sockets, for instance. It returns the
// first error, and goes on with the others.
func (h *Holder) Drop(all ...Namespace) error {
	done := make(chan error)
	h.work <- func() {
		var first error
		for _, n := range all {
			if err := drop(held + "/" + n.name); first == nil {
				first = err
			}
		}
		done <- first
	}
	return <-done
}

// drop takes a mount away. What has it open keeps the namespace, and not the mount.
func drop(at string) error {
	if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of a network namespace: %w", err)
	}
	return os.Remove(at)
}

// Close lets go of all namespaces at once. Each ends when nothing else uses it.
func (h *Holder) Close() {
	h.closing.Do(func() { close(h.stop) })
	<-h.ended
}
