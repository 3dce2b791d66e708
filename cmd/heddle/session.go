package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

// env is what the program takes from the process it runs in.
type env struct {
	args           []string // after the program's name
	stdout, stderr io.Writer
	getenv         func(string) string
	// become replaces the process by another program (execve(2)).
	become func(path string, argv, environ []string) error
}

// session is one call of the program: its surroundings and global flags.
type session struct {
	env
	socket string
	format string
	// began says that cobra has accepted the arguments: errors from then on are not errors
	// of usage.
	began bool
}

const (
	formatTable = "table"
	formatJSON  = "json"
	formatYAML  = "yaml"
)

func newSession(e env) *session {
	s := &session{env: e, socket: e.getenv("HEDDLE_SOCKET"), format: wantedFormat(e.args)}
	if s.socket == "" {
		s.socket = client.DefaultSocket
	}
	return s
}

// begin is called by cobra between the arguments and the command.
func (s *session) begin(*cobra.Command, []string) error {
	switch s.format {
	case formatTable, formatJSON, formatYAML:
		s.began = true
		return nil
	}
	format := s.format
	s.format = formatTable
	return heddle.Errorf(heddle.BadArgument, "read flag", "--output", fmt.Sprintf("%q is not an output format", format), "give table, json or yaml")
}

func (s *session) client() *client.Client { return client.New(s.socket) }

// note prints a remark that is not data. If the caller asked for documents, it prints the
// remark only on a terminal: another program finds nothing but documents on standard
// error.
func (s *session) note(format string, args ...any) {
	if s.format == formatTable || isTerminal(s.stderr) {
		_ = say(s.stderr, "heddle: "+format+"\n", args...)
	}
}

// patience is how long a command may be silent.
const patience = 2 * time.Second

// working reports at increasing intervals that the work goes on, until done is called.
func (s *session) working(what string) (done func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	start := time.Now()
	go func() {
		defer close(stopped)
		for silence := patience; ; silence *= 2 {
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
