package lab

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// keeper is what a host's init does for the rest of its life: it reaps whoever
// died, and starts the agent again on SIGHUP.
type keeper struct {
	command []string
	log     *os.File
	report  *os.File
	agent   int // its process number, 0 while it does not run
	signals chan os.Signal
}

// newKeeper listens from the start: a SIGHUP that came before would be deadly.
func newKeeper(command []string, log *os.File) *keeper {
	k := &keeper{command: command, log: log, report: os.NewFile(reportFD, "report"), signals: make(chan os.Signal, 16)}
	// A stray "kill 1" in a host must not take the host away.
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	signal.Notify(k.signals, syscall.SIGCHLD, syscall.SIGHUP)
	return k
}

func (k *keeper) keep() {
	stay := make(chan bool, 1)
	go func() { stay <- hear() == wordStay }()
	for {
		select {
		case ours := <-stay:
			if !ours {
				return
			}
			k.report.Close()
		case s := <-k.signals:
			k.reap()
			if s == syscall.SIGHUP {
				if err := k.start(); err != nil {
					fmt.Fprintln(k.log, "lab:", err)
				}
			}
		}
	}
}

// reap takes in all dead children, those of others too: an orphan's parent is
// the init.
func (k *keeper) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if pid == k.agent {
			k.agent = 0
			fmt.Fprintln(k.log, "lab: the agent", ending(status))
			fmt.Fprintln(k.report, "it", ending(status))
		}
	}
}

func ending(s unix.WaitStatus) string {
	if s.Signaled() {
		return fmt.Sprintf("was ended by signal %d (%v)", s.Signal(), s.Signal())
	}
	return fmt.Sprintf("ended with status %d", s.ExitStatus())
}

// start starts the agent, unless it runs or there shall be none.
func (k *keeper) start() error {
	if len(k.command) == 0 || k.agent != 0 {
		return nil
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	pid, err := syscall.ForkExec(k.command[0], k.command, &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(),
		Files: []uintptr{null.Fd(), k.log.Fd(), k.log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", k.command[0], err)
	}
	k.agent = pid
	return nil
}
