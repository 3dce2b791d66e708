package container

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Pause stops the program, and all that it has started: the kernel takes connections for it, and nobody answers them. If that
// fails, what is stopped goes on.
func (c *Container) Pause() error {
	stopped := map[int]bool{}
	for before := -1; before < len(stopped); { // until nobody is left who could have started another one
		before = len(stopped)
		if err := c.signal(unix.SIGSTOP, stopped); err != nil {
			return errors.Join(err, c.Resume())
		}
	}
	return nil
}

// Resume has a program that was paused go on.
func (c *Container) Resume() error { return c.signal(unix.SIGCONT, map[int]bool{}) }

// signal signals all processes of the program's PID namespace but those that were, and adds them to these. The error of a program
// that has ended is ESRCH.
func (c *Container) signal(s unix.Signal, were map[int]bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return unix.ESRCH
	}
	own, err := os.Readlink(namespace(c.cmd.Process.Pid))
	if err != nil {
		return unix.ESRCH // it has ended just now
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("list the processes of %s: %w", c.program.Path, err)
	}
	for _, one := range all {
		pid, err := strconv.Atoi(one.Name())
		if err != nil || were[pid] {
			continue
		}
		if is, err := os.Readlink(namespace(pid)); err != nil || is != own {
			continue
		}
		if err := signalIn(own, pid, s); err != nil {
			return fmt.Errorf("signal %s: %w", c.program.Path, err)
		}
		were[pid] = true
	}
	return nil
}

// namespace is the file that says in which PID namespace a process is.
func namespace(pid int) string { return fmt.Sprintf("/proc/%d/ns/pid", pid) }

// signalIn signals a process if it is in the PID namespace: its number may be another's by now.
func signalIn(own string, pid int, s unix.Signal) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if is, err := os.Readlink(namespace(pid)); err != nil || is != own {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, s, nil, 0); !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}
