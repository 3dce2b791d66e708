package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervisor is the main loop of a host's init: it reaps dead processes, and on SIGHUP
// starts the programs of its record.
type supervisor struct {
	folder  *os.Root // the host's, kept open: another mount hides its path in here
	state   string   // the file with the programs' states
	wanted  func() []program
	signals chan os.Signal
	mu      sync.Mutex // guards what follows, and starting and reaping children
	all     map[string]*programState
	others  map[int]chan unix.WaitStatus // children for which a caller waits
}

// newSupervisor handles SIGHUP from the start: an early one must not kill the init.
func newSupervisor(folder *os.Root, state string, wanted func() []program) *supervisor {
	k := &supervisor{folder: folder, state: state, wanted: wanted, signals: make(chan os.Signal, 16), all: map[string]*programState{}, others: map[int]chan unix.WaitStatus{}}
	// A "kill 1" in a host must not end the host. The signals are caught and not ignored:
	// the programs started here would inherit ignored signals.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	signal.Notify(k.signals, syscall.SIGCHLD, syscall.SIGHUP)
	return k
}

// loop handles signals. It returns when stay says that the init shall end.
func (k *supervisor) loop(stay <-chan bool) {
	for {
		select {
		case ours := <-stay:
			if !ours {
				return
			}
		case <-k.signals:
			ended := k.reap()
			if k.startWanted() || ended {
				k.writeState()
			}
		}
	}
}

// reap reaps all dead children, including orphans, whose parent the init is. It reports
// whether one of them was a program of ours.
func (k *supervisor) reap() (ours bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return ours
		}
		if waiting := k.others[pid]; waiting != nil {
			waiting <- status
			delete(k.others, pid)
		}
		for name, at := range k.all {
			if pid == at.Pid {
				at.Pid, at.Ending, ours = 0, ending(status), true
				k.log(name, at.Ending)
			}
		}
	}
}

const endedWell = "ended with status 0"

func ending(s unix.WaitStatus) string {
	if s.Signaled() {
		return fmt.Sprintf("was ended by signal %d (%v)", s.Signal(), s.Signal())
	}
	return fmt.Sprintf("ended with status %d", s.ExitStatus())
}

// startWanted starts the programs that were asked for and do not run. A program that still
// runs is started after its end.
func (k *supervisor) startWanted() (some bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.wanted() {
		at := k.all[p.Name]
		if at == nil {
			at = &programState{}
			k.all[p.Name] = at
		}
		if at.Pid != 0 || p.Starts <= at.Starts {
			continue
		}
		some, at.Starts, at.Ending = true, p.Starts, ""
		var err error
		if at.Pid, err = k.start(p); err != nil {
			at.Ending = "could not be started: " + err.Error()
			k.log(p.Name, at.Ending)
		}
	}
	return some
}

func (k *supervisor) start(p program) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	log, err := k.open(p.Name)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	file, err := exec.LookPath(p.Argv[0])
	if err != nil {
		return 0, err
	}
	return syscall.ForkExec(file, p.Argv, &syscall.ProcAttr{
		Dir: "/", Env: append(os.Environ(), p.Env...),
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}

func (k *supervisor) open(program string) (*os.File, error) {
	return k.folder.OpenFile(logName(program), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

func (k *supervisor) log(program, line string) {
	if f, err := k.open(program); err == nil {
		fmt.Fprintln(f, "lab: it", line)
		f.Close()
	}
}

// writeState writes the state of the programs, for readers outside.
func (k *supervisor) writeState() {
	k.mu.Lock()
	defer k.mu.Unlock()
	b, err := json.Marshal(k.all)
	if err == nil {
		err = k.folder.WriteFile(k.state+".new", b, 0o600)
	}
	if err == nil {
		k.folder.Rename(k.state+".new", k.state)
	}
}
