package agent

import (
	"os"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// reservedBytes stay free inside the run ledger's file for detaches: a full disk must not prevent
// them. reserveStep is allocated in addition, so that not every attach asks the kernel.
const reservedBytes, reserveStep = 256 << 10, 64 << 10

// reserveSpace allocates space on the file system before something new is recorded, or fails.
// Writes inside the file need no more space later. It leaves out what it has allocated before: the
// kernel would look at each page of it again.
func (l *ledger) reserveSpace() error {
	var used int64
	err := l.boot.View(func(tx *bbolt.Tx) error { used = tx.Size(); return nil })
	if err != nil {
		return writeError("the next record", err)
	}
	info, err := os.Stat(l.boot.Path())
	if err != nil || info.Size()-used >= reservedBytes {
		return err
	}
	f, err := os.OpenFile(l.boot.Path(), os.O_RDWR, 0)
	if err != nil {
		return writeError("the next record", err)
	}
	defer f.Close()
	from, to := l.allocated.Load(), used+reservedBytes+reserveStep
	if to <= from { // another attach has just done it
		return nil
	}
	// on a tmpfs, kernels such as 6.1 return EINTR for any signal (shmem_fallocate)
	err = uninterrupted(func() error { return unix.Fallocate(int(f.Fd()), 0, from, to-from) })
	if err != nil {
		return writeError("the next record", err)
	}
	l.allocated.Store(to)
	return nil
}
