package vm

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/lab/boot"
	"github.com/heddle-network/heddle/test/poll"
)

// Unload unloads a kernel module in the guest, with all modules that depend on it, and returns a function that
// loads them again. It fails the test if the module stays in use.
func Unload(t testing.TB, name string) (load func()) {
	t.Helper()
	if !InGuest() {
		t.Fatal("kernel modules are taken away in a guest only")
	}
	load = func() {
		if err := loadModules(); err != nil {
			t.Error(err)
		}
	}
	// a namespace that was closed holds its modules until the kernel has cleaned up
	_, err := poll.Until(30*time.Second, 100*time.Millisecond, func() error { return unload(boot.ModuleName(name)) })
	if err != nil {
		load()
		t.Fatalf("unload module %s: %v", name, err)
	}
	return load
}

// unload removes the modules that depend on the module, then the module. It is an error if it is not loaded.
func unload(name string) error {
	b, err := os.ReadFile("/proc/modules")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line) // name, size, uses, users, state, address
		if len(f) < 4 || f[0] != name {
			continue
		}
		for user := range strings.SplitSeq(strings.Trim(f[3], "-,"), ",") {
			if user == "" {
				continue
			}
			if err := unload(user); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		if err := unix.DeleteModule(name, unix.O_NONBLOCK); err != nil {
			return fmt.Errorf("%s (%s uses, by %s): %w", name, f[2], f[3], err)
		}
		return nil
	}
	return fmt.Errorf("module %s: %w", name, os.ErrNotExist)
}
