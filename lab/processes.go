package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

const endTime = 30 * time.Second // limit for a killed program to end

// processes returns the PIDs, in the machine's numbering, of all processes of the host except
// its init, including those of its containers. In a virtual machine it leaves out kernel
// threads, which ignore signals.
func (h *Host) processes() (all []int) {
	own, err := os.Stat(fmt.Sprintf("/proc/%d/ns/pid", h.Pid))
	if err != nil {
		return nil
	}
	for _, pid := range processes() {
		if pid != h.Pid && inNamespace(own, pid) && !ofKernel(pid) {
			all = append(all, pid)
		}
	}
	return all
}

// inNamespace reports whether a process lives in the PID namespace, or in one that
// was made in it (ioctl_ns(2), NS_GET_PARENT).
func inNamespace(own os.FileInfo, pid int) bool {
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/pid", pid))
	for depth := 0; err == nil && depth < 32; depth++ { // the kernel's limit of nesting
		at, failed := f.Stat()
		if failed != nil || os.SameFile(own, at) {
			f.Close()
			return failed == nil
		}
		f, err = parentNamespace(f)
	}
	if err == nil {
		f.Close()
	}
	return false
}

// parentNamespace closes the namespace's file, and opens that of its parent.
func parentNamespace(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.IoctlRetInt(int(f.Fd()), unix.NS_GET_PARENT)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "parent"), nil
}

// machinePid returns the program's PID in the machine's numbering, or 0 if it does not run.
func (h *Host) machinePid(name string) int {
	at := h.programState(name)
	if at.Pid == 0 {
		return 0
	}
	for _, pid := range h.processes() {
		if numbers := namespacePids(pid); len(numbers) > 1 && numbers[len(numbers)-1] == at.Pid {
			return pid
		}
	}
	return 0
}

// namespacePids returns the PIDs of a process, from the machine's PID namespace down to its
// own (proc(5), NSpid).
func namespacePids(pid int) (all []int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if list, found := strings.CutPrefix(line, "NSpid:"); found {
			for _, s := range strings.Fields(list) {
				n, _ := strconv.Atoi(s)
				all = append(all, n)
			}
		}
	}
	return all
}

// end ends a program with a signal and waits until the init has reaped it. It is no error
// if the program does not run.
func (h *Host) end(ctx context.Context, name string, s syscall.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeLimit(endTime))
	defer cancel()
	for h.Alive() && h.programState(name).Pid != 0 {
		if err := h.signalProgram(ctx, name, s); err != nil {
			return err
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("%s does not end: %w", name, err)
		}
	}
	return nil
}

func (h *Host) signalProgram(ctx context.Context, name string, s syscall.Signal) error {
	if h.Machine != "" {
		return h.send(ctx, request{Verb: verbSignal, Name: name, Number: int(s)})
	}
	return signalProcess(h.machinePid(name), s)
}

// signalProcess signals a process. It is no error if the process is gone, or if pid is 0.
func signalProcess(pid int, s syscall.Signal) error {
	if pid == 0 {
		return nil
	}
	if err := unix.Kill(pid, s); err != nil && err != unix.ESRCH {
		return err
	}
	return nil
}

// KillAgent kills the host's agent (kill -9) and returns when it is gone.
// StartAgent starts it again.
func (h *Host) KillAgent(ctx context.Context) error {
	if _, err := h.agentSpec(); err != nil {
		return err
	}
	if err := h.end(ctx, agentProgram, unix.SIGKILL); err != nil {
		return heddle.Wrap(heddle.LabFailed, "kill agent of", h.Name, err, "")
	}
	// A child that the agent has just forked has its socket open until it executes another
	// program.
	for h.answers() {
		select {
		case <-ctx.Done():
			return heddle.Wrap(heddle.LabFailed, "kill agent of", h.Name,
				fmt.Errorf("something still answers on its socket: %w", ctx.Err()), "end the program that listens there")
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// stop stops the host's agent, or all its processes except the init, until resume is
// called. A process that starts meanwhile is stopped in the next round.
func (h *Host) stop(ctx context.Context, all bool) error {
	if h.Machine != "" {
		return h.send(ctx, request{Verb: verbStop, All: all})
	}
	if !all {
		pid := h.machinePid(agentProgram)
		if pid == 0 {
			return errNoAgent
		}
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			return err
		}
		return awaitStopped([]int{pid}, stopTime)
	}
	return h.stopAll()
}

var errNoAgent = errors.New("no agent runs in it")

// stopAll stops the host's processes. A process that waits for its child after vfork(2)
// stops only when the child has executed another program, which a stopped child cannot do.
// In this case all processes continue for a moment, and are stopped again.
func (h *Host) stopAll() (err error) {
	for limit := stopTime / 16; limit <= stopTime; limit *= 2 {
		if err = h.stopOnce(limit); err == nil {
			return nil
		}
		h.resumeAll()
		time.Sleep(limit / 4)
	}
	return err
}

func (h *Host) stopOnce(limit time.Duration) error {
	var stopped []int
	for range 20 {
		fresh := 0
		for _, pid := range h.processes() {
			if !slices.Contains(stopped, pid) {
				fresh++
				stopped = append(stopped, pid)
				unix.Kill(pid, unix.SIGSTOP)
			}
		}
		if fresh == 0 {
			return awaitStopped(stopped, limit)
		}
	}
	return errors.New("it makes processes faster than they can be stopped")
}

// resume lets all processes of the host continue.
func (h *Host) resume(ctx context.Context) error {
	if h.Machine != "" {
		return h.send(ctx, request{Verb: verbResume})
	}
	h.resumeAll()
	return nil
}

func (h *Host) resumeAll() {
	for _, pid := range h.processes() {
		unix.Kill(pid, unix.SIGCONT)
	}
}
