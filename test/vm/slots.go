package vm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/lab/boot"
)

// slots returns how many guests run at the same time: three for two processors. Guests often wait, mostly
// for answers that must not come; but more guests would delay each other.
func slots() int { return runtime.NumCPU() + (runtime.NumCPU()+1)/2 }

// takeSlot waits for a free slot, and returns a function that releases it. Several packages are tested at
// the same time, so slots are locks on files in the cache, which end with the process that holds them.
func takeSlot(deadline time.Time) (free func(), err error) {
	cache, err := boot.CacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "slots")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("wait for a guest's turn: %w", err)
	}
	for {
		for i := range slots() {
			f, err := lockFile(filepath.Join(dir, fmt.Sprint(i)))
			if err == nil {
				return func() { f.Close() }, nil
			}
			if !errors.Is(err, unix.EWOULDBLOCK) {
				return nil, fmt.Errorf("wait for a guest's turn: %w", err)
			}
		}
		if !deadline.IsZero() && time.Now().After(deadline) {
			return nil, errors.New("wait for a guest's turn: other guests took all the time there was: raise go test's -timeout")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// lockFile opens a file and locks it, or returns EWOULDBLOCK.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
