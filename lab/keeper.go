package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// keeper is what a host's init does for the rest of its life: it reaps whoever
// died, and on SIGHUP starts what its record asks for.
type keeper struct {
	folder  *os.Root // the host's, held open: its path is covered in here
	report  *os.File
	all     map[string]*standing
	signals chan os.Signal
}

// newKeeper listens from the start: a SIGHUP that came before would be deadly.
func newKeeper(folder *os.Root) *keeper {
	k := &keeper{folder: folder, report: os.NewFile(reportFD, "report"), all: map[string]*standing{}, signals: make(chan os.Signal, 16)}
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
		case <-k.signals:
			ended := k.reap()
			if k.startWanted() || ended {
				k.tell()
			}
		}
	}
}

// reap takes in all dead children, those of others too: an orphan's parent is
// the init. It reports whether one was a program of ours.
func (k *keeper) reap() (ours bool) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return ours
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

// startWanted starts the programs that were asked for and do not run. One that
// is still dying comes up for it again when it is dead.
func (k *keeper) startWanted() (some bool) {
	s, err := readRoot(k.folder)
	if err != nil {
		return false
	}
	for _, p := range s.Programs {
		at := k.all[p.Name]
		if at == nil {
			at = &standing{}
			k.all[p.Name] = at
		}
		if at.Pid != 0 || p.Starts <= at.Starts {
			continue
		}
		some, at.Starts, at.Ending = true, p.Starts, ""
		if at.Pid, err = k.start(p); err != nil {
			at.Ending = "could not be started: " + err.Error()
			k.log(p.Name, at.Ending)
		}
	}
	return some
}

func (k *keeper) start(p program) (pid int, err error) {
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

func (k *keeper) open(program string) (*os.File, error) {
	return k.folder.OpenFile(logName(program), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

func (k *keeper) log(program, line string) {
	if f, err := k.open(program); err == nil {
		fmt.Fprintln(f, "lab: it", line)
		f.Close()
	}
}

// tell writes down how the programs stand, for whoever waits outside.
func (k *keeper) tell() {
	b, err := json.Marshal(k.all)
	if err == nil {
		err = k.folder.WriteFile(stateName+".new", b, 0o600)
	}
	if err == nil {
		k.folder.Rename(stateName+".new", stateName)
	}
}
