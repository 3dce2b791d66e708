package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-network/heddle"
)

const (
	stateName    = "state.json" // the states of the init's programs
	agentProgram = "heddled"
	tailLines    = 12
	startTime    = 30 * time.Second // limit for an init to start a program
)

// program is a program that a host's init starts and reaps.
type program struct {
	Name string   `json:"name"`
	Argv []string `json:"argv"`
	Env  []string `json:"env,omitempty"` // in addition to the init's own
	// Starts counts the requests to start the program. The init starts it if the number is larger
	// than at its last start, and the program does not run.
	Starts int `json:"starts"`
}

// programState is the state of a program, as its init records it.
type programState struct {
	Pid    int    `json:"pid,omitempty"` // in the host; 0 while it does not run
	Starts int    `json:"starts"`        // the program's number when it was started last
	Ending string `json:"ending,omitempty"`
}

func logName(program string) string { return program + ".log" }

// launch asks the host's init to start a program, for the first time or again, and waits
// until it has.
func (h *Host) launch(ctx context.Context, p program) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeLimit(startTime))
	defer cancel()
	lock, err := takeLock(ctx, h.folder)
	if err != nil {
		return heddle.Wrap(heddle.LabFailed, "lock folder", h.folder, err, "")
	}
	defer lock.Close()
	s, err := readSpec(h.folder)
	if err != nil {
		return heddle.Wrap(heddle.LabFailed, "read record of", h.Name, err, "")
	}
	s = s.with(&p)
	if err := writeJSON(filepath.Join(h.folder, specName), s); err != nil {
		return heddle.Wrap(heddle.LabFailed, "write record of", h.Name, err, "")
	}
	if err := h.startInside(ctx, p); err != nil {
		return heddle.Wrap(heddle.LabFailed, "reach host", h.Name, err, "")
	}
	for h.programState(p.Name).Starts < p.Starts {
		if err := pause(ctx, 2*time.Millisecond); err != nil || !h.Alive() {
			return heddle.Errorf(heddle.LabFailed, "start program",
				p.Name+" in "+h.Name, "the host's init has not started it in time", "")
		}
	}
	return nil
}

// startInside starts the program. The host's init reads it from its record; a guest's init
// gets it in the request.
func (h *Host) startInside(ctx context.Context, p program) error {
	if h.Machine != "" {
		return h.send(ctx, request{Verb: verbStart, Program: &p})
	}
	return h.signal(syscall.SIGHUP)
}

// with adds the program, and raises its number of starts by one.
func (s spec) with(p *program) spec {
	for i, old := range s.Programs {
		if old.Name == p.Name {
			p.Starts = old.Starts + 1
			s.Programs[i] = *p
			return s
		}
	}
	p.Starts = 1
	s.Programs = append(s.Programs, *p)
	return s
}

// programState returns the state of a program of the host. It is empty if the program was
// never started.
func (h *Host) programState(name string) programState {
	var all map[string]programState
	b, _ := os.ReadFile(filepath.Join(h.folder, h.stateFile(name)))
	json.Unmarshal(b, &all)
	return all[name]
}

// stateFile returns the name of the file with the program's state.
func (h *Host) stateFile(name string) string {
	if h.Machine != "" && !strings.HasPrefix(name, emulatorPrefix) {
		return guestStateName
	}
	return stateName
}

// await waits until the program is ready, and fails if it has ended.
func (h *Host) await(ctx context.Context, name string, ready func() bool) error {
	for {
		if ready() {
			return nil
		}
		at := h.programState(name)
		switch {
		case !h.runs():
			return h.programError(name, errors.New("the host ended"))
		case at.Pid == 0 && at.Ending != "":
			return h.programError(name, errors.New("it "+at.Ending))
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return h.programError(name, fmt.Errorf("it does not answer: %w", err))
		}
	}
}

// programError adds the end of the program's log to the error: the log is deleted before the
// caller could read it.
func (h *Host) programError(name string, cause error) error {
	if tail := lastLines(filepath.Join(h.folder, logName(name))); tail != "" {
		cause = errors.New(cause.Error() + "; its log ends:\n" + tail)
	}
	return heddle.Wrap(heddle.LabFailed, "start program", name+" in "+h.Name, cause, "")
}

func lastLines(file string) string {
	b, _ := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
