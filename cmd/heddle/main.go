// Command heddle is the command line of the container network: a thin client of the agent.
// It also makes labs and runs benchmarks.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/crowd/engine"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/vpc"
)

func main() {
	engine.Dispatch(os.Args[1:])
	lab.Dispatch(os.Args[1:])
	bench.Dispatch(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	os.Exit(run(ctx, processEnv{program: os.Args[0], args: os.Args[1:], stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, exec: syscall.Exec}))
}

// exitInterrupted is the exit code by which shells know that a signal ended the program.
const exitInterrupted = 128 + int(syscall.SIGINT)

// exitCode ends the program with a code and without a message: everything has been printed.
type exitCode int

func (exitCode) Error() string { return "" }

// run is the whole program; it returns the exit code.
func run(ctx context.Context, e processEnv) int {
	s := newSession(e)
	root := newRoot(s)
	root.SetArgs(e.args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !s.argsAccepted {
		err = usageError(cmd, err)
	}
	var silent exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &silent):
		return int(silent)
	case ctx.Err() != nil:
		s.note("interrupted")
		return exitInterrupted
	}
	if s.vpc != "" {
		err = vpc.Away(s.vpc, err, "")
	}
	s.printError(err)
	return max(int(heddle.KindOf(err)), int(heddle.Failed))
}
