// Package socket opens sockets in other network namespaces. A socket stays in the namespace in which it was made,
// so a process with thousands of users enters the namespace of one of them for that moment alone
// (network_namespaces(7)).
package socket

import (
	"fmt"
	"os"
	"runtime"
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

// folderApart is the folder over which the thread mounts its own. Every host has it, and it is no symbolic link: whoever opens
// the path follows an absolute one from the own root. The thread needs nothing that is there.
const folderApart = "/sys"

// NewHolder returns a holder whose mounts are in a mount namespace that only one thread of this process has
// (mount_namespaces(7)): they have no name that others see, and end with the process. It needs CAP_SYS_ADMIN.
func NewHolder() (*Holder, error) { return start(newHolder(), (*Holder).mountApart) }

// folderThere is the folder of a holder in another mount namespace.
const folderThere = "/run/heddle-crowd-namespaces"

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
			if h.at == folderThere {
				os.Remove(folderThere)
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
	h.at, h.path = folderApart, fmt.Sprintf("/proc/%d/task/%d/root%s", os.Getpid(), unix.Gettid(), folderApart)
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
	if err := os.Mkdir(folderThere, 0o700); err != nil {
		return fmt.Errorf("make a folder for network namespaces: %w", err)
	}
	h.at, h.path = folderThere, folderThere
	if err := h.mount(); err != nil {
		os.Remove(folderThere)
		return err
	}
	return nil
}

// mount mounts the folder of the namespaces.
func (h *Holder) mount() error {
	err := unix.Mount("heddle-crowd", h.at, "tmpfs", 0, "mode=0700")
	if err != nil {
		return fmt.Errorf("mount tmpfs over %s: %w", h.at, err)
	}
	if h.folder, err = os.Open(h.at); err != nil {
		unix.Unmount(h.at, unix.MNT_DETACH)
	}
	return err
}

// Close lets go of all namespaces at once. Each ends when nothing else uses it.
func (h *Holder) Close() {
	h.closing.Do(func() { close(h.stop) })
	<-h.ended
}
