// Package socket opens sockets in other network namespaces. A socket stays in the namespace in which it was made,
// so a process with thousands of users enters the namespace of one of them for that moment alone
// (network_namespaces(7)).
package socket

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Holder makes network namespaces, and holds them by mounts: so they take none of the files that a process may have open.
// Close ends the holder.
type Holder struct {
	// at is the folder over which the thread mounts its own, path is where others find that, and folder is its open file.
	at, path string
	folder   *os.File
	made     atomic.Int64
	// work is what the thread does until stop is closed; ended is closed when it has ended.
	work    chan func()
	closing sync.Once
	stop    chan struct{}
	ended   chan struct{}
}

// held is the folder over which the thread mounts its own. Every host has it, and it is no symbolic link: whoever opens
// the path follows an absolute one from the own root. The thread needs nothing that is there.
const held = "/sys"

// NewHolder returns a holder whose mounts are in a mount namespace that only one thread of this process has
// (mount_namespaces(7)): they have no name that others see, and end with the process. It needs CAP_SYS_ADMIN.
func NewHolder() (*Holder, error) { return start(newHolder(), (*Holder).mountApart) }

// heldThere is the folder of a holder in another mount namespace.
const heldThere = "/run/heddle-crowd-namespaces"

// NewHolderIn returns a holder whose mounts are in another mount namespace, that of a lab host, where programs find them. They
// end with that namespace, if this process is killed. There is one such holder in it at a time. It needs CAP_SYS_ADMIN.
func NewHolderIn(mounts string) (*Holder, error) {
	return start(newHolder(), func(h *Holder) error { return h.mountIn(mounts) })
}

func newHolder() *Holder {
	return &Holder{work: make(chan func()), stop: make(chan struct{}), ended: make(chan struct{})}
}

// start starts the thread, which mounts the folder.
func start(h *Holder, mount func(*Holder) error) (*Holder, error) {
	started := make(chan error)
	go h.run(mount, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return h, nil
}

// run is the thread. It never serves anything else, since it cannot return to the mount namespace from which it came.
func (h *Holder) run(mount func(*Holder) error, started chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() { // others take the first thread's namespaces for those of the process
		go h.run(mount, started)
		<-h.ended
		runtime.UnlockOSThread()
		return
	}
	defer close(h.ended)
	if err := mount(h); err != nil {
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
			unix.Unmount(h.at, unix.MNT_DETACH) // and with it all that is mounted there
			if h.at == heldThere {
				os.Remove(heldThere)
			}
			return
		}
	}
}

// mountApart gives the thread a mount namespace of its own.
func (h *Holder) mountApart() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	// What others unmount goes here, too: otherwise file systems of the host would stay in use.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts from others: %w", err)
	}
	h.at, h.path = held, fmt.Sprintf("/proc/%d/task/%d/root%s", os.Getpid(), unix.Gettid(), held)
	return h.mount()
}

// mountIn brings the thread into a mount namespace that is there.
func (h *Holder) mountIn(mounts string) error {
	file, err := os.Open(mounts)
	if err != nil {
		return fmt.Errorf("open a mount namespace: %w", err)
	}
	defer file.Close()
	err = unix.Unshare(unix.CLONE_FS) // a thread that shares its root folder with others may not enter
	if err == nil {
		err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNS)
	}
	if err != nil {
		return fmt.Errorf("enter a mount namespace: %w", err)
	}
	if err := os.Mkdir(heldThere, 0o700); err != nil {
		return fmt.Errorf("make a folder for network namespaces: %w", err)
	}
	h.at, h.path = heldThere, heldThere
	if err := h.mount(); err != nil {
		os.Remove(heldThere)
		return err
	}
	return nil
}

// mount mounts the folder of the namespaces.
func (h *Holder) mount() (err error) {
	if err := unix.Mount("heddle-crowd", h.at, "tmpfs", 0, "mode=0700"); err != nil {
		return fmt.Errorf("mount tmpfs over %s: %w", h.at, err)
	}
	h.folder, err = os.Open(h.at)
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

// hold mounts a namespace, of which the file is open. /proc/self/fd would not do: in another mount namespace, /proc may be that of
// other processes.
func hold(namespace *os.File, at string) error {
	f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL, 0)
	if err != nil {
		return err
	}
	f.Close()
	tree, err := unix.OpenTree(int(namespace.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err == nil {
		defer unix.Close(tree)
		err = unix.MoveMount(tree, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	if err != nil {
		return fmt.Errorf("hold a network namespace by a mount: %w", err)
	}
	return nil
}

// Drop lets go of namespaces. Each ends when nothing else uses it: sockets, for instance. It returns the first error, and goes
// on with the others.
func Drop(all ...Namespace) (first error) {
	of := map[*Holder][]Namespace{}
	for _, n := range all {
		of[n.holder] = append(of[n.holder], n)
	}
	for h, some := range of {
		done := make(chan error)
		h.work <- func() {
			var failed error
			for _, n := range some {
				failed = cmp.Or(failed, drop(h.at+"/"+n.name))
			}
			done <- failed
		}
		first = cmp.Or(first, <-done)
	}
	return first
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
