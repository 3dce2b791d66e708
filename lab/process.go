package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stat reads the state letter of a process and its start time in clock ticks since boot. The
// command's name may hold any character, so fields are counted after its closing parenthesis.
func stat(pid int) (state string, started uint64, err error) {
	return readStat(fmt.Sprintf("/proc/%d/stat", pid))
}

func readStat(file string) (state string, started uint64, err error) {
	fields, err := statFields(file)
	if err != nil {
		return "", 0, err
	}
	started, err = strconv.ParseUint(fields[19], 10, 64)
	return fields[0], started, err
}

// statFields returns the fields from the third on, which is the state.
func statFields(file string) ([]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return nil, fmt.Errorf("%s has %d fields", file, len(fields))
	}
	return fields, nil
}

// kernelThread is the flag of the kernel's own threads (PF_KTHREAD in
// include/linux/sched.h; the flags are field 9 of proc(5)'s stat).
const kernelThread = 0x00200000

func ofKernel(pid int) bool {
	fields, err := statFields(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	flags, _ := strconv.ParseUint(fields[6], 10, 64)
	return flags&kernelThread != 0
}

// Alive reports whether the host's init is alive. A later process with the same PID has
// another start time. A zombie is not alive: it has released everything.
func (h *Host) Alive() bool {
	state, started, err := stat(h.Pid)
	return err == nil && started == h.Started && state != "Z" && state != "X"
}

// signal signals the host's init and no other process: it opens a pidfd of the process before
// it compares the start time.
func (h *Host) signal(s syscall.Signal) error {
	p, err := os.FindProcess(h.Pid)
	if err != nil {
		return err
	}
	defer p.Release()
	if !h.Alive() {
		return os.ErrProcessDone
	}
	return p.Signal(s)
}

// processes lists the PIDs of all processes of the machine.
func processes() []int {
	var all []int
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, e := range entries {
		if pid, err := strconv.Atoi(filepath.Base(e)); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// unrecorded reports whether an init of the lab's folder still runs. An init whose maker died
// before it recorded the PID ends by itself.
func unrecorded(folder string) bool {
	for _, pid := range processes() {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		args := strings.Split(string(b), "\x00")
		if err == nil && len(args) > 2 && (args[1] == argInit || args[1] == argHost) && args[2] == folder {
			return true
		}
	}
	return false
}

// stopTime is how long processes may take to stop after SIGSTOP.
const stopTime = 5 * time.Second

// awaitStopped waits until every thread of the processes has stopped or is gone: SIGSTOP takes
// effect some time after kill(2) has returned.
func awaitStopped(pids []int, limit time.Duration) error {
	for end := time.Now().Add(limit); slices.ContainsFunc(pids, runs); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("processes go on %v after SIGSTOP", limit)
		}
	}
	return nil
}

func runs(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return slices.ContainsFunc(threads, func(file string) bool {
		state, _, err := readStat(file)
		return err == nil && !strings.Contains("TtZX", state)
	})
}
