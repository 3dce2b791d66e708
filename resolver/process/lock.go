// Package process says which resolver runs on a host, and starts one. It is what an agent has to
// know of the resolver, which is a process of its own: names are answered while no agent runs.
package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// The files of the resolver, beside those of the networks.
const (
	lockFile   = "lock"
	logFile    = "resolver.log"
	StatusFile = "resolver.json"
)

// lockTime is how long a process may hold the lock that only looks whether it is free.
const lockTime = 300 * time.Millisecond

// Lock is held by the resolver that runs. It ends with the process.
type Lock struct{ file *os.File }

// Take takes the folder's lock for this process and version. The error is of code ResolverRuns
// if another process has it.
func Take(dir, version string) (*Lock, error) {
	l, err := try(dir)
	for end := time.Now().Add(lockTime); l == nil && err == nil && time.Now().Before(end); {
		time.Sleep(pause)
		l, err = try(dir)
	}
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, heddle.Errorf(heddle.ResolverRuns, "start resolver in", dir, "", "stop the other one first, or name another folder with --dir")
	}
	if _, err := l.file.WriteAt(fmt.Appendf(nil, "%d %s\n", os.Getpid(), version), 0); err != nil {
		return nil, errors.Join(cannotLock(dir, err), l.file.Close())
	}
	return l, nil
}

// Release gives the lock back.
func (l *Lock) Release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// Lost reports whether the folder is gone, or has another resolver's lock by now: nobody wants this
// resolver any more.
func (l *Lock) Lost() bool {
	there, err := os.Stat(l.file.Name())
	if errors.Is(err, os.ErrNotExist) {
		_, err := os.Stat(filepath.Dir(l.file.Name()))
		return errors.Is(err, os.ErrNotExist)
	}
	own, errOwn := l.file.Stat()
	return err == nil && errOwn == nil && !os.SameFile(own, there)
}

// try returns nil if another process has the lock. The file of the lock that it returns is empty.
func try(dir string) (*Lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, cannotLock(dir, err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, f.Close()
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(cannotLock(dir, err), f.Close())
	}
	return &Lock{f}, nil
}

func cannotLock(dir string, cause error) error {
	return heddle.Wrap(heddle.LedgerFull, "open resolver's lock in", dir, cause, "name a folder that can be written with --dir")
}

// Running is the resolver that holds a folder's lock.
type Running struct {
	PID     int
	Version string
}

// Find returns the resolver that runs on a folder; nil if there is none, or none yet that has
// said who it is.
func Find(dir string) (*Running, error) {
	path := filepath.Join(dir, lockFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cannotLock(dir, err)
	}
	r := &Running{}
	if n, _ := fmt.Sscan(string(text), &r.PID, &r.Version); n != 2 || !r.has(path) {
		return nil, nil
	}
	return r, nil
}

// has reports whether the process has the file open, and is not this one, which looks at it. The
// file of a resolver that was killed names a process that may be another program by now.
func (r *Running) has(path string) bool {
	want, err := os.Stat(path)
	if err != nil || r.PID == os.Getpid() {
		return false
	}
	fds := fmt.Sprintf("/proc/%d/fd", r.PID)
	all, _ := os.ReadDir(fds)
	for _, fd := range all {
		if f, err := os.Stat(filepath.Join(fds, fd.Name())); err == nil && os.SameFile(f, want) {
			return true
		}
	}
	return false
}
