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

// supervisor is what a host's init does for the rest of its life: it reaps dead processes, and
// on SIGHUP starts what its record asks for.
type supervisor struct {
	folder  *os.Root // the host's, held open: its path is covered in here
	state   string   // the file that tells how the programs stand
	wanted  func() []program
	signals chan os.Signal
	mu      sync.Mutex // of what follows, and of who makes or reaps children
	all     map[string]*programState
	others  map[int]chan unix.WaitStatus // children that somebody waits for
}

// newSupervisor handles SIGHUP from the start: otherwise an early one would kill the init.
func newSupervisor(folder *os.Root, state string, wanted func() []program) *supervisor {
	k := &supervisor{folder: folder, state: state, wanted: wanted, signals: make(chan os.Signal, 16), all: map[string]*programState{}, others: map[int]chan unix.WaitStatus{}}
	// A stray "kill 1" in a host must not end the host. The signals are caught and not
	// ignored, since the programs started here would inherit that they are ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	signal.Notify(k.signals, syscall.SIGCHLD, syscall.SIGHUP)
	return k
}

// keep returns when it hears that the init shall not stay.
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

// reap reaps all dead children, also orphans, whose parent is the init. It reports whether
// one was a program of ours.
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

// startWanted starts the programs that were asked for and do not run. One that is still
// ending is started after its end.
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

// tell writes the state of the programs, for readers outside.
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
