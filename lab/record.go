package lab

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const recordName = "lab.json"

// read returns the recorded lab in the folder. Only its name is known if making it was
// interrupted before the first record. PIDs of another boot are left out.
func read(folder string) *Lab {
	l := &Lab{folder: folder}
	if b, err := os.ReadFile(filepath.Join(folder, recordName)); err == nil {
		if json.Unmarshal(b, l) != nil {
			*l = Lab{folder: folder}
		}
	}
	l.Name = filepath.Base(folder)
	for _, h := range l.allHosts() {
		h.folder = filepath.Join(folder, h.Name)
		if l.Boot != bootID() {
			h.Pid = 0
		}
	}
	return l
}

// write replaces the record in one step. No lab survives a reboot of the machine, so nothing
// is synced.
func (l *Lab) write() error {
	return writeJSON(filepath.Join(l.folder, recordName), l)
}

func writeJSON(file string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// lock is held while a lab is made, changed or removed. It is a lock on the lab's folder
// itself: it leaves no file behind, and ends with the process that holds it.
type lock struct{ *os.File }

// takeLock waits for the folder's lock. The error is os.ErrNotExist if the folder does not
// exist, or was removed meanwhile.
func takeLock(ctx context.Context, folder string) (lock, error) {
	f, err := os.Open(folder)
	if err != nil {
		return lock{}, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			f.Close()
			return lock{}, err
		}
	}
	if !sameFile(f, folder) {
		f.Close()
		return lock{}, os.ErrNotExist
	}
	return lock{f}, nil
}

// sameFile reports whether the path still leads to the open folder.
func sameFile(f *os.File, path string) bool {
	a, err1 := f.Stat()
	b, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}

// makeFolder makes the lab's folder, if there is none, and locks it.
func makeFolder(ctx context.Context, folder string) (lock, error) {
	for {
		if err := os.MkdirAll(folder, 0o755); err != nil && !os.IsNotExist(err) {
			return lock{}, err
		}
		l, err := takeLock(ctx, folder)
		if !os.IsNotExist(err) {
			return l, err
		}
	}
}

func isEmpty(folder string) bool {
	entries, err := os.ReadDir(folder)
	return err == nil && len(entries) == 0
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}
