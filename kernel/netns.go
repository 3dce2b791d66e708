package kernel

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Netns is an opened network namespace. It holds the namespace alive.
type Netns struct {
	fd       int
	path     string
	dev, ino uint64
}

const namespaceRemedy = "give /proc/PID/ns/net of a running container, or a file under /run/netns"

// OpenNetns opens the network namespace that path leads to. It refuses anything else, such as
// another kind of namespace, or the file that remains under /run/netns when the mount of a
// namespace is gone. Entering such a file would fail late, or the work would be done on the host's
// own interfaces.
func OpenNetns(path string) (*Netns, error) {
	fd, err := openNamespace(path)
	if err != nil {
		return nil, heddle.Wrap(heddle.BadNamespace, "open network namespace", path, err, namespaceRemedy)
	}
	n := &Netns{fd: fd, path: path}
	if err := n.verify(); err != nil {
		n.Close()
		return nil, heddle.Wrap(heddle.BadNamespace, "open network namespace", path, err, namespaceRemedy)
	}
	return n, nil
}

// openNamespace finds the file and checks its type before it opens it: opening a
// FIFO or a device has side effects.
func openNamespace(path string) (int, error) {
	found, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(found)
	var fs unix.Statfs_t
	if err := unix.Fstatfs(found, &fs); err != nil {
		return -1, err
	}
	if fs.Type != unix.NSFS_MAGIC {
		return -1, fmt.Errorf("it is not a namespace")
	}
	return unix.Open(fmt.Sprintf("/proc/self/fd/%d", found), unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// verify checks that the file is a network namespace (ioctl_ns(2)).
func (n *Netns) verify() error {
	kind, err := unix.IoctlRetInt(n.fd, unix.NS_GET_NSTYPE)
	if err != nil {
		return err
	}
	if kind != unix.CLONE_NEWNET {
		return fmt.Errorf("it is a namespace of another kind (%#x)", kind)
	}
	var st unix.Stat_t
	if err := unix.Fstat(n.fd, &st); err != nil {
		return err
	}
	n.dev, n.ino = uint64(st.Dev), st.Ino
	return nil
}

// Inode identifies the namespace as long as it lives.
func (n *Netns) Inode() uint64 { return n.ino }

// Cookie identifies the namespace until the next boot. Unlike an inode number it is not used again
// (SO_NETNS_COOKIE of socket(7), Linux 5.14).
func (n *Netns) Cookie() (cookie uint64, err error) {
	err = n.Do(func() error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		cookie, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
		return err
	})
	return cookie, err
}

// Is reports whether this is the namespace with that inode number and cookie. A cookie of 0 comes
// from a record without one, and is not compared.
func (n *Netns) Is(inode, cookie uint64) bool {
	if n.ino != inode || cookie == 0 {
		return n.ino == inode
	}
	have, err := n.Cookie()
	return err == nil && have == cookie
}

// Same reports whether both are the same namespace.
func (n *Netns) Same(o *Netns) bool { return n.dev == o.dev && n.ino == o.ino }

// Dup returns another handle on the namespace (dup(2)).
func (n *Netns) Dup() (*Netns, error) {
	fd, err := unix.FcntlInt(uintptr(n.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, heddle.Wrap(heddle.BadNamespace, "open network namespace", n.path, err, "try again")
	}
	return &Netns{fd, n.path, n.dev, n.ino}, nil
}

// Close closes the handle on the namespace.
func (n *Netns) Close() { unix.Close(n.fd) }

// Do runs fn inside the namespace on a thread of its own, and waits for it. A thread that cannot
// return to its namespace ends with the goroutine: otherwise it would later run other goroutines in
// the wrong namespace.
func (n *Netns) Do(fn func() error) error {
	// This is the result if fn never returns (runtime.Goexit).
	err := fmt.Errorf("the work in namespace %s was abandoned", n.path)
	done := make(chan struct{})
	go func() {
		defer close(done)
		home, errHome := enter(n.fd)
		if errHome != nil {
			code, remedy := heddle.BadNamespace, "try again"
			if errors.Is(errHome, unix.EPERM) {
				code, remedy = heddle.NoPermission, "give the agent CAP_SYS_ADMIN"
			}
			err = heddle.Wrap(code, "enter network namespace", n.path, errHome, remedy)
			return
		}
		defer leave(home)
		err = fn()
	}()
	<-done
	return err
}

// handle opens a socket of the netlink library in the namespace.
func (n *Netns) handle() (*netlink.Handle, error) {
	return netlink.NewHandleAt(netns.NsHandle(n.fd), unix.NETLINK_ROUTE)
}

// enter locks the thread and moves it to the namespace; home is the namespace where it was.
func enter(fd int) (home int, err error) {
	runtime.LockOSThread()
	home, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		runtime.UnlockOSThread()
		return -1, err
	}
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		unix.Close(home)
		runtime.UnlockOSThread()
		return -1, err
	}
	return home, nil
}

// leave moves the thread back. If that fails, the thread stays locked, and ends with its goroutine.
func leave(home int) {
	if unix.Setns(home, unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread()
	}
	unix.Close(home)
}
