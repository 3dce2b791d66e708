package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

// processEnv is what the program takes from the process it runs in.
type processEnv struct {
	program        string   // as it was called
	args           []string // after the program's name
	stdout, stderr io.Writer
	getenv         func(string) string
	// exec replaces the process by another program (execve(2)).
	exec func(path string, argv, environ []string) error
}

// session is one run of the program: its environment and global flags.
type session struct {
	processEnv
	socket string
	// vpc is the VPC whose agent is asked; "" for the host's.
	vpc    string
	format string
	// argsAccepted says that cobra has accepted the arguments: errors from then on are not errors
	// of usage.
	argsAccepted bool
}

const (
	formatTable = "table"
	formatWide  = "wide"
	formatJSON  = "json"
	formatYAML  = "yaml"
)

func newSession(e processEnv) *session {
	s := &session{processEnv: e, socket: e.getenv("HEDDLE_SOCKET"), format: requestedFormat(e.args)}
	if s.socket == "" {
		s.socket = client.DefaultSocket
	}
	return s
}

// checkGlobal checks --output, and that one agent is named. Cobra calls it after it has parsed the arguments.
func (s *session) checkGlobal(cmd *cobra.Command, _ []string) error {
	if s.vpc != "" && cmd.Flags().Changed("socket") {
		return heddle.Errorf(heddle.BadArgument, "read flags", "--vpc and --socket", "each names an agent", "leave one of them out")
	}
	switch s.format {
	case formatTable, formatWide, formatJSON, formatYAML:
		s.argsAccepted = true
		return nil
	}
	format := s.format
	s.format = formatTable
	return heddle.Errorf(heddle.BadArgument, "read flag", "--output", fmt.Sprintf("%q is not an output format", format),
		"give table, wide, json or yaml")
}

// isText reports whether the output is for people: a table, or a wide one.
func (s *session) isText() bool { return s.format == formatTable || s.format == formatWide }

// isWide reports whether tables are to have all columns, and nothing in them is shortened.
func (s *session) isWide() bool { return s.format == formatWide }

// agentProgram is how the agent's program is called from where this one was called.
func (s *session) agentProgram() string {
	return s.program[:strings.LastIndex(s.program, "/")+1] + "heddled"
}

func (s *session) client() *client.Client { return client.New(s.socket) }

// note prints a remark that is not data. If the caller asked for documents, it prints the
// remark only on a terminal: another program finds nothing but documents on standard
// error.
func (s *session) note(format string, args ...any) {
	if s.isText() || isTerminal(s.stderr) {
		_ = printLine(s.stderr, "heddle: "+format+"\n", args...)
	}
}

// silenceTime is how long a command runs before it reports progress.
const silenceTime = 2 * time.Second

// showProgress reports at increasing intervals what the command is doing, until done is
// called.
func (s *session) showProgress(what string) (done func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	start := time.Now()
	go func() {
		defer close(stopped)
		for silence := silenceTime; ; silence *= 2 {
			select {
			case <-stop:
				return
			case <-time.After(silence):
				s.note("%s (%s)", what, time.Since(start).Round(time.Second))
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}
