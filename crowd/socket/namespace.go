package socket

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Namespace is a network namespace of a Holder.
type Namespace struct {
	holder *Holder
	name   string
}

// Path is where another process of the holder's host finds the namespace, as long as the holder has it.
func (n Namespace) Path() string { return n.holder.path + "/" + n.name }

// Do runs a function in the namespace. The function makes sockets, or reads and writes settings; it does not wait.
func (n Namespace) Do(f func() error) error {
	return apart(func() error {
		if err := n.Enter(); err != nil {
			return err
		}
		return f()
	})
}

// Enter brings the calling thread into the namespace, to stay there. The goroutine has locked the thread
// (runtime.LockOSThread), and does not give it back.
func (n Namespace) Enter() error {
	var fd int
	folder, err := n.holder.folder.SyscallConn()
	if err != nil {
		return err
	}
	closed := folder.Control(func(at uintptr) { // Close waits for this
		fd, err = unix.Openat(int(at), n.name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
	if err = cmp.Or(closed, err); err != nil {
		return fmt.Errorf("open a network namespace: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	return nil
}

// home is this process's own namespace.
var home = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/self/ns/net") })

// apart runs a function on a thread that may leave its namespace, and takes the thread back. A thread that cannot
// come back ends.
func apart(f func() error) error {
	home, err := home()
	if err != nil {
		return err
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := f()
		if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}
