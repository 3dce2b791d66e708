// Command heddle is the command line of the container network: a thin client
// of the agent, and the maker of labs.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/lab"
)

func main() {
	lab.Dispatch(os.Args[1:])
	bench.Dispatch(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal kills
	os.Exit(run(ctx, env{args: os.Args[1:], stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, become: syscall.Exec}))
}

// interrupted is the exit code that tells shells that a signal ended the program.
const interrupted = 128 + int(syscall.SIGINT)

// exit ends the program with a code and without a message: everything has been printed.
type exit int

func (exit) Error() string { return "" }

// run is the whole program; it returns the exit code.
func run(ctx context.Context, e env) int {
	s := newSession(e)
	root := newRoot(s)
	root.SetArgs(e.args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !s.began {
		err = usage(cmd, err)
	}
	var silent exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &silent):
		return int(silent)
	case ctx.Err() != nil:
		s.note("interrupted")
		return interrupted
	}
	s.complain(err)
	return max(int(heddle.KindOf(err)), int(heddle.Failed))
}
