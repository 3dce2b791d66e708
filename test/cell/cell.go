// Package cell runs a test binary in its own namespaces of network, mounts, host name and
// processes. It cannot reach the machine's links, firewall and /run, and what a test leaves behind
// ends with the process. Agents look for network namespaces in all processes that they see: those
// of one cell do not see processes of another. In a guest of package vm the whole machine is the
// cell.
package cell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/vm"
)

const marker = "HEDDLE_TEST_CELL"

// Main is called from TestMain. As root it runs the tests again in a new cell. Otherwise, or in a
// guest, it runs them here.
func Main(m *testing.M) int {
	if os.Getenv(initMarker) != "" {
		return serveAsInit()
	}
	if vm.InGuest() || os.Getpid() == 1 {
		return vm.Main(m)
	}
	if os.Getenv(marker) == "" && os.Geteuid() == 0 {
		return reexec()
	}
	if os.Getenv(marker) != "" {
		if err := setUp(); err != nil {
			fmt.Fprintln(os.Stderr, "cell:", err)
			return 1
		}
	}
	return m.Run()
}

// Need skips the test if there is no cell: namespaces need root.
func Need(t testing.TB) {
	t.Helper()
	if os.Getenv(marker) == "" && !vm.InGuest() {
		t.Skip("needs root, for a network namespace of its own")
	}
}

func reexec() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	bin, err := os.MkdirTemp("", "heddle-bin-") // for Build; removed after the tests
	if err != nil {
		fmt.Fprintln(os.Stderr, "cell:", err)
		return 1
	}
	defer os.RemoveAll(bin)
	cmd.Env = append(os.Environ(), marker+"="+bin, initMarker+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	signal.Ignore(syscall.SIGINT) // the child decides
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "cell:", err)
		return 1
	}
	return 0
}

// setUp makes mounts private, gives the cell its own /run, and sets the loopback up.
func setUp() error {
	if err := keepMounts(); err != nil {
		return err
	}
	if err := unix.Mount("run", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	return exec.Command("ip", "link", "set", "lo", "up").Run()
}

// keepMounts keeps the cell's mounts from the machine.
func keepMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	return nil
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Sh runs a shell script and fails the test with its output if it fails.
func Sh(t testing.TB, script string, args ...any) string {
	t.Helper()
	out, err := TrySh(script, args...)
	if err != nil {
		t.Fatalf("%s\n%v\n%s", fmt.Sprintf(script, args...), err, out)
	}
	return out
}

// TrySh runs a shell script and returns what it printed.
func TrySh(script string, args ...any) (string, error) {
	if len(args) > 0 {
		script = fmt.Sprintf(script, args...)
	}
	out, err := exec.Command("sh", "-ec", script).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Netns makes a named network namespace for the length of the test, with the
// loopback down as a container's is, and returns its path.
func Netns(t testing.TB, name string) string {
	t.Helper()
	Sh(t, "ip netns add %s", name)
	t.Cleanup(func() { TrySh("ip netns del %s", name) })
	return "/run/netns/" + name
}
