// Package socket opens sockets in other network namespaces. A socket stays in the namespace in which it was made,
// so a process with thousands of users enters the namespace of one of them for that moment alone
// (network_namespaces(7)).
package socket

import (
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Namespace is a network namespace that this process made. It is held by an open file: it ends with the process, and
// has no name that could be left over.
type Namespace struct{ file *os.File }

// NewNamespace makes a namespace, in which loopback is down.
func NewNamespace() (n Namespace, err error) {
	err = apart(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: %w", err)
		}
		n.file, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	return n, err
}

// Path is where another process finds the namespace, as long as it is open.
func (n Namespace) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

// Close lets go of the namespace. It ends when nothing else uses it.
func (n Namespace) Close() error { return n.file.Close() }

// Do runs a function in the namespace. The function makes sockets, or reads and writes settings; it does not wait.
func (n Namespace) Do(f func() error) error {
	return apart(func() error {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter a network namespace: %w", err)
		}
		return f()
	})
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
