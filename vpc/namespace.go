package vpc

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// Enter brings the calling thread into the namespace of the VPC, which it makes if there is none. The goroutine has locked the thread
// (runtime.LockOSThread). A program that it executes is in the namespace as a whole.
func Enter(name string) error {
	err := heddle.CheckVPCName(name)
	if err != nil {
		return err
	}
	if err = pin(name); err != nil {
		return heddle.Wrap(heddle.BadNamespace, "make network namespace of VPC", name, err, "run it as root, and look at "+Netns(name))
	}
	return enter(Netns(name))
}

// Inside reports whether this process is in the namespace of the VPC.
func Inside(name string) bool {
	var own, pinned unix.Stat_t
	return unix.Stat("/proc/thread-self/ns/net", &own) == nil && unix.Stat(Netns(name), &pinned) == nil && own.Ino == pinned.Ino && own.Dev == pinned.Dev
}

// Do runs a function in the network namespace of a file, on a thread of its own.
func Do(netns string, f func() error) error {
	return apart(func() error {
		if err := enter(netns); err != nil {
			return err
		}
		return f()
	})
}

// apart runs a function on a thread that may leave its namespace, and brings the thread back. A thread that cannot come back ends.
func apart(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open("/proc/thread-self/ns/net")
		if err == nil {
			defer home.Close()
			err = f()
			if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
				runtime.UnlockOSThread()
			}
		}
		done <- err
	}()
	return <-done
}

func enter(netns string) error {
	f, err := open(netns)
	if err == nil {
		defer f.Close()
		err = os.NewSyscallError("setns", unix.Setns(int(f.Fd()), unix.CLONE_NEWNET))
	}
	if err != nil {
		return heddle.Wrap(heddle.BadNamespace, "enter network namespace", netns, err, "look whether the VPC's agent runs, which makes it, and call as root")
	}
	return nil
}

// open opens a namespace. A file that is left of one is another error than none.
func open(netns string) (*os.File, error) {
	if is, err := isNamespace(netns); err != nil {
		return nil, err
	} else if !is {
		return nil, errors.New("it is no network namespace")
	}
	return os.Open(netns)
}

func isNamespace(file string) (bool, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(file, &fs); err != nil {
		return false, &os.PathError{Op: "statfs", Path: file, Err: err}
	}
	return fs.Type == unix.NSFS_MAGIC, nil
}

// pin makes the namespace of a VPC that has none, and brings its loopback up. A file without a namespace is what a crash left. A
// namespace is pinned last, so it is there as a whole or not at all.
func pin(name string) error {
	unlock, err := lock()
	if err != nil {
		return err
	}
	defer unlock()
	file := Netns(name)
	if is, err := isNamespace(file); err == nil && is {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, nil, 0o444); err != nil {
		return err
	}
	return apart(func() error {
		err := os.NewSyscallError("unshare", unix.Unshare(unix.CLONE_NEWNET))
		if err == nil {
			err = raiseLoopback()
		}
		if err == nil {
			err = os.NewSyscallError("mount", unix.Mount("/proc/thread-self/ns/net", file, "", unix.MS_BIND, ""))
		}
		return err
	})
}

// raiseLoopback brings lo up in the calling thread's namespace (netdevice(7)).
func raiseLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(s)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return os.NewSyscallError("SIOCSIFFLAGS", unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, request))
}

// lock keeps other processes from making or deleting VPCs.
func lock() (unlock func(), err error) {
	if err := os.MkdirAll(runDirs, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(runDirs, ".lock"), os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err == nil {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			f.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}
