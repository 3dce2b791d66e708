package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// Mounts is the host's mount namespace, as a path outside of the host.
func (h *Host) Mounts() string { return fmt.Sprintf("/proc/%d/ns/mnt", h.Pid) }

// Command returns a command that runs in all the host's namespaces, in the caller's folder
// (which the host shares, unless it is below /run, /etc or /var/lib). Exit codes, terminals
// and signals pass through. When the context ends, the command is killed; daemons that it
// started stay.
//
// nsenter enters the namespaces, since Go starts a command from any of its threads, and one that has entered a mount namespace
// cannot come back. It then runs the program of the host's init again, as argRun.
func (h *Host) Command(ctx context.Context, argv ...string) (*exec.Cmd, error) {
	if len(argv) == 0 {
		return nil, heddle.Errorf(heddle.BadArgument, "run command in", h.Name, "no command is given", "name a command")
	}
	if !h.runs() {
		return nil, heddle.Errorf(heddle.LabFailed, "enter host", h.Name, "the host is gone", "make the lab anew with 'heddle lab down NAME' and 'heddle lab up --name NAME'")
	}
	if h.Machine != "" {
		return h.commandInMachine(ctx, argv)
	}
	args := []string{"--target", strconv.Itoa(h.Pid), "--mount", "--net", "--uts", "--pid"}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/ns/cgroup", h.Pid)); err == nil {
		args = append(args, "--cgroup")
	}
	tool, err := exec.LookPath("nsenter")
	if err != nil {
		return nil, heddle.Wrap(heddle.LabFailed, "enter host", h.Name, err, "install util-linux")
	}
	args = append(args, "--", "/proc/1/exe", argRun)
	return exec.CommandContext(ctx, tool, append(args, argv...)...), nil
}

// The exit codes with which shells report that a command did not start.
const (
	notExecutable = 126
	notFound      = 127
)

// run executes the command in the right folder and cgroup.
func run(argv []string) int {
	joinRoot()
	os.Chdir(os.Getenv("PWD")) // nsenter changed to /; stay there if the host has no such folder
	file, err := exec.LookPath(argv[0])
	if err == nil {
		// The caller can kill nsenter only, and this kills the command, too.
		runtime.LockOSThread()
		err = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	}
	if err == nil && os.Getppid() != 0 { // nsenter, which is outside, has PID 0 here; otherwise it has died
		return notExecutable
	}
	if err == nil {
		err = syscall.Exec(file, argv, os.Environ())
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", argv[0], err)
	return int(exitCodeOf(err))
}
