package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// How long a resolver may take to say who it is, and to end when it is told to.
const (
	startTime = 10 * time.Second
	endTime   = 3 * time.Second
	pause     = 10 * time.Millisecond
)

// Ensure sees to it that a resolver of this version runs on the folder: it starts program, which
// is heddled, in a session of its own if none runs, and ends one of another version before. It
// returns who runs, and whether it has started it. With /proc/self/exe as the program, an agent
// starts its own version also if its file was replaced.
func Ensure(ctx context.Context, program, dir, version string) (r Running, started bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTime+2*endTime)
	defer cancel()
	var own *child
	for {
		found, err := Find(dir)
		switch {
		case err != nil:
		case found != nil && own != nil && found.PID == own.process.Pid:
			return *found, true, nil
		case found != nil && found.Version == version:
			own.kill() // another one was faster
			return *found, false, nil
		case found != nil:
			err = end(ctx, found.PID, dir)
		case own == nil:
			own, err = startIfFree(program, dir)
		}
		if err == nil {
			err = own.wait(ctx, dir)
		}
		if err != nil && heddle.KindOf(err) != heddle.Conflict {
			return Running{}, false, err
		}
		if err != nil { // another one was faster
			own = nil
		}
	}
}

// End ends the resolver that runs on the folder, if there is one.
func End(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*endTime)
	defer cancel()
	found, err := Find(dir)
	if found == nil || err != nil {
		return err
	}
	return end(ctx, found.PID, dir)
}

// startIfFree starts a resolver, unless another process has the folder's lock.
func startIfFree(program, dir string) (*child, error) {
	l, err := try(dir)
	if l == nil || err != nil {
		return nil, err
	}
	if err := l.Release(); err != nil {
		return nil, cannotLock(dir, err)
	}
	return start(program, dir)
}

// child is a resolver that was started, and ended tells its end.
type child struct {
	process *os.Process
	ended   <-chan error
}

// wait waits for a moment, and returns an error if the child, which may be nil, has ended.
func (c *child) wait(ctx context.Context, dir string) error {
	var ended <-chan error
	if c != nil {
		ended = c.ended
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return heddle.Wrap(heddle.Waited, "start resolver in", dir, ctx.Err(), "see "+filepath.Join(dir, logFile))
	case <-time.After(pause):
		return nil
	}
}

// kill ends the child, which may be nil. It waits for the lock, and would take over from the one that
// has it.
func (c *child) kill() {
	if c == nil {
		return
	}
	c.process.Kill()
	<-c.ended
}

func start(program, dir string) (*child, error) {
	dir, err := filepath.Abs(dir) // the resolver leaves this process's folder
	if err != nil {
		return nil, cannotStart(program, err)
	}
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, cannotStart(program, err)
	}
	defer log.Close()
	cmd := exec.Command(program, "resolve", "--dir", dir)
	cmd.Args[0] = "heddled"
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, cannotStart(program, err)
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == int(heddle.Conflict) {
			err = heddle.Wrap(heddle.ResolverRuns, "start resolver in", dir, err, "")
		} else {
			err = cannotStart(program, errors.Join(errors.New("it has ended"), err))
		}
		ended <- err
	}()
	return &child{cmd.Process, ended}, nil
}

func cannotStart(program string, cause error) error {
	return heddle.Wrap(heddle.ResolverDown, "start resolver with", program, cause, "see "+logFile+" in the folder of names, in the agent's run folder")
}

// end ends the process that has the folder's lock: by SIGTERM, and after a while by SIGKILL.
func end(ctx context.Context, pid int, dir string) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return cannotEnd(dir, err)
	}
	defer unix.Close(fd)
	if now, err := Find(dir); err != nil || now == nil || now.PID != pid {
		return err // it is the descriptor's process that is asked about
	}
	for _, by := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		if err := unix.PidfdSendSignal(fd, by, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return cannotEnd(dir, err)
		}
		gone, err := waitEnd(ctx, fd)
		if gone || err != nil {
			return err
		}
	}
	return nil
}

// waitEnd reports whether the process of the descriptor has ended within a while.
func waitEnd(ctx context.Context, fd int) (bool, error) {
	until := time.Now().Add(endTime)
	if d, ok := ctx.Deadline(); ok && d.Before(until) {
		until = d
	}
	for time.Now().Before(until) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(pause.Milliseconds()))
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return n > 0, err
		}
	}
	return false, ctx.Err()
}

func cannotEnd(dir string, cause error) error {
	return heddle.Wrap(heddle.ResolverDown, "end resolver in", dir, cause, "end it yourself; the file lock there names its process")
}
