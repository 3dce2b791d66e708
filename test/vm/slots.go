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

// niceness of the emulator: guests have patience, what runs beside them on this machine may not.
const niceness = 5

// slots is how many guests run at once: three for two processors. A good part of a guest's time is waiting, for answers that must
// not come above all; many more would only make each other late.
func slots() int { return runtime.NumCPU() + (runtime.NumCPU()+1)/2 }

// takeSlot waits for a guest's place, and returns how to give it back. Packages are tested at the same time. The places are locks
// on files in the cache, which end with the process that holds them.
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
