package cell

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// initMarker makes the test binary run as the first process of a cell.
const initMarker = "HEDDLE_TEST_INIT"

// serveAsInit runs the tests as a child, and reaps orphans until the tests have ended. Then the
// kernel kills all other processes (pid_namespaces(7)).
func serveAsInit() int {
	signal.Ignore(syscall.SIGINT) // the child decides
	tests, err := startTests()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cell:", err)
		return 1
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR || err == nil && pid != tests:
			continue
		case err != nil:
			fmt.Fprintln(os.Stderr, "cell:", err)
			return 1
		case status.Signaled():
			fmt.Fprintln(os.Stderr, "cell: the tests were ended by", status.Signal())
			return 1
		}
		return status.ExitStatus()
	}
}

func startTests() (pid int, err error) {
	if err := keepMounts(); err != nil {
		return 0, err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return 0, fmt.Errorf("mount /proc: %w", err)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, initMarker+"=") })
	p, err := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{Env: env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 0, err
	}
	return p.Pid, nil
}
