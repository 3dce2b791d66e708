package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle/lazyregexp"
)

const daemonTime = 30 * time.Second

var daemonName = lazyregexp.New(`^[a-z0-9][a-z0-9._-]{0,31}$`)

// startPrograms starts the daemons that come before the agents, then the agents, then the
// other daemons.
func (l *Lab) startPrograms(ctx context.Context) error {
	if err := l.startDaemons(ctx, false); err != nil {
		return err
	}
	if err := l.startAgents(ctx); err != nil {
		return err
	}
	return l.startDaemons(ctx, true)
}

func (l *Lab) startDaemons(ctx context.Context, after bool) error {
	return eachHost(l.allHosts(), func(h *Host) error {
		n := l.Topology.findNode(h.Name)
		if n == nil {
			return nil
		}
		for _, d := range n.Daemons {
			if d.AfterAgent != after {
				continue
			}
			if err := h.startDaemon(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// startDaemon starts a daemon and waits until it is ready.
func (h *Host) startDaemon(ctx context.Context, d Daemon) error {
	within := d.Ready.Within
	setDefault(&within, h.timeLimit(daemonTime))
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	p := program{Name: d.Name, Argv: d.Command, Env: environment(d.Environment)}
	if err := h.launch(ctx, p); err != nil {
		return err
	}
	if d.Ready.Exit {
		return h.awaitExit(ctx, d.Name)
	}
	return h.await(ctx, d.Name, func() bool { return h.ready(ctx, d.Ready) })
}

// awaitExit waits until the command has ended with status 0.
func (h *Host) awaitExit(ctx context.Context, name string) error {
	for {
		at := h.programState(name)
		switch {
		case !h.runs():
			return h.programError(name, errors.New("the host ended"))
		case at.Pid == 0 && at.Ending == endedWell:
			return nil
		case at.Pid == 0 && at.Ending != "":
			return h.programError(name, errors.New("it "+at.Ending))
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return h.programError(name, fmt.Errorf("it does not end: %w", err))
		}
	}
}

func (h *Host) ready(ctx context.Context, r Ready) bool {
	if r.TCP != 0 && !h.listens(r.TCP) {
		return false
	}
	if r.Unix != "" && !h.connects(r.Unix) {
		return false
	}
	if len(r.Command) == 0 {
		return true
	}
	cmd, err := h.Command(ctx, r.Command...)
	return err == nil && cmd.Run() == nil
}

// connects reports whether a unix socket in the host takes a connection.
func (h *Host) connects(path string) bool {
	if h.Machine != "" {
		return h.send(context.Background(), request{Verb: verbDial, Name: path}) == nil
	}
	c, err := net.Dial("unix", fmt.Sprintf("/proc/%d/root%s", h.Pid, path))
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// listening is TCP_LISTEN in /proc/net/tcp (linux/tcp_states.h).
const listening = "0A"

// listens reports whether somebody in the host listens on a TCP port.
func (h *Host) listens(port uint16) bool {
	if h.Machine != "" {
		r, err := h.ask(context.Background(), request{Verb: verbListens, Number: int(port)})
		return err == nil && r.Yes
	}
	for _, table := range []string{"tcp", "tcp6"} {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", h.Pid, table))
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) < 4 || f[3] != listening {
				continue
			}
			_, hex, _ := strings.Cut(f[1], ":")
			if p, err := strconv.ParseUint(hex, 16, 16); err == nil && p == uint64(port) {
				return true
			}
		}
	}
	return false
}

// checkDaemons refuses two daemons of one name in a host: they would share a log.
func (t Topology) checkDaemons() error {
	for _, n := range t.Hosts {
		seen := map[string]bool{}
		for _, d := range n.Daemons {
			if seen[d.Name] {
				return refuse("check daemon of "+n.Name, d.Name,
					"another daemon of the host has that name", "give each its own name")
			}
			seen[d.Name] = true
		}
	}
	return nil
}

func (d Daemon) check(host string) error {
	op := "check daemon of " + host
	switch {
	case !daemonName.MatchString(d.Name) || d.Name == agentProgram:
		return refuse(op, d.Name, "the name is the agent's, too long, or has other characters",
			"use 1 to 32 small letters, digits, '.', '_', '-'")
	case len(d.Command) == 0:
		return refuse(op, d.Name, "it has no command", "give its command, as a list")
	case d.Ready.Exit && (d.Ready.TCP != 0 || d.Ready.Unix != "" || len(d.Ready.Command) > 0):
		return refuse("check readiness of", d.Name, "a command that shall end cannot be ready in another way too",
			"leave out tcp, unix and command, or exit")
	case d.Ready.Unix != "" && !strings.HasPrefix(d.Ready.Unix, "/"):
		return refuse("check readiness of", d.Name,
			"the path of its socket is not absolute: "+d.Ready.Unix, "give the socket's whole path")
	case d.Ready.Within < 0:
		return refuse("check readiness of", d.Name,
			fmt.Sprintf("the time %v is negative", d.Ready.Within), "give a time such as 30s")
	}
	return nil
}
