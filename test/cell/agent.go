package cell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/vm"
)

var builds sync.Map // name -> path, so that a binary is built once a process

// Programs is the variable that names a folder that the packages of one run share, so that each binary is
// linked once a run. Without it each process has a folder of its own.
const Programs = "HEDDLE_TEST_PROGRAMS"

// Build builds one of the commands and returns the binary's path. A guest has the commands that
// were built for it (vm.Guest.Own).
func Build(t testing.TB, name string) string {
	t.Helper()
	if path, ok := builds.Load(name); ok {
		return path.(string)
	}
	if vm.InGuest() {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	dir := os.Getenv(marker)
	if shared := os.Getenv(Programs); shared != "" {
		dir = shared
		Must(t, os.MkdirAll(dir, 0o755))
	}
	defer lockFolder(t, dir)()
	path := filepath.Join(dir, name)
	if fresh(path) {
		builds.Store(name, path)
		return path
	}
	began := time.Now()
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-buildvcs=false", "-o", path, "github.com/heddle-network/heddle/cmd/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make does, also for tests with the race detector: another form would be compiled anew
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", name, err, out)
	}
	Must(t, os.Chtimes(path, began, began)) // what changes in the meantime makes it old
	builds.Store(name, path)
	return path
}

// lockFolder lets one process at a time build there.
func lockFolder(t testing.TB, dir string) (unlock func()) {
	f, err := os.Open(dir)
	Must(t, err)
	Must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	return func() { f.Close() }
}

// Agent is a running heddled.
type Agent struct {
	*client.Client
	// Dir holds its state and run folders; Log is its log file.
	Dir, Socket, Log string
	t                testing.TB
	cmd              *exec.Cmd
	done             chan struct{}
}

// Start runs heddled with its folders under dir and waits until it answers.
func Start(t testing.TB, dir string, env ...string) *Agent {
	t.Helper()
	a, err := TryStart(t, dir, env...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TryStart is Start for an agent that may refuse to run.
func TryStart(t testing.TB, dir string, env ...string) (*Agent, error) {
	t.Helper()
	return TryStartWith(t, dir, nil, env...)
}

// TryStartWith is TryStart with further flags.
func TryStartWith(t testing.TB, dir string, flags []string, env ...string) (*Agent, error) {
	t.Helper()
	a := &Agent{t: t, Dir: dir, Socket: filepath.Join(dir, "run", "heddle.sock"), Log: filepath.Join(dir, "heddled.log"), done: make(chan struct{})}
	a.Client = client.New(a.Socket)
	log, err := os.OpenFile(a.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	a.cmd = exec.Command(Build(t, "heddled"), append([]string{"--resolver", "none", "--state-dir", filepath.Join(dir, "state"), "--run-dir", filepath.Join(dir, "run")}, flags...)...)
	a.cmd.Env = append(os.Environ(), env...)
	a.cmd.Stdout, a.cmd.Stderr = log, log
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		a.cmd.Wait()
		close(a.done)
	}()
	t.Cleanup(a.Kill)
	return a, a.wait()
}

// patience is how long an agent may take to start or to end. It is long, for a machine that runs
// all tests at the same time.
const patience = time.Minute

func (a *Agent) wait() error {
	_, err := poll.Until(patience, 5*time.Millisecond, func() error {
		s, err := a.Status(context.Background())
		switch {
		case err == nil && s.Ready:
			return nil
		case a.Dead():
			return poll.Final(errors.New("it has ended"))
		case err == nil:
			return errors.New("it is not ready")
		}
		return err
	})
	if err == nil {
		return nil
	}
	text, _ := os.ReadFile(a.Log)
	if !a.Dead() {
		a.end(syscall.SIGQUIT)
		stacks, _ := os.ReadFile(a.Log)
		a.t.Logf("heddled does not answer; its stacks:\n%s", stacks[min(len(text), len(stacks)):])
	}
	return fmt.Errorf("heddled does not answer (%v; exit %d):\n%s", err, a.cmd.ProcessState.ExitCode(), text)
}

// Dead reports whether the process has ended.
func (a *Agent) Dead() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// Kill kills the agent (SIGKILL), and waits for its end.
func (a *Agent) Kill() { a.end(syscall.SIGKILL) }

// Stop ends the agent (SIGTERM), and waits. If it does not end, the test fails, and the log shows
// the agent's stacks.
func (a *Agent) Stop() {
	a.t.Helper()
	if !a.Dead() {
		a.cmd.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-a.done:
	case <-time.After(patience):
		a.end(syscall.SIGQUIT)
		text, _ := os.ReadFile(a.Log)
		a.t.Errorf("heddled does not end:\n%s", text)
	}
}

func (a *Agent) end(sig syscall.Signal) {
	if !a.Dead() {
		a.cmd.Process.Signal(sig)
	}
	<-a.done
}

// WaitDead waits until the agent has ended by itself.
func (a *Agent) WaitDead(t testing.TB) {
	t.Helper()
	select {
	case <-a.done:
	case <-time.After(patience):
		t.Fatal("the agent lives on")
	}
}

// Pid is the agent's process id.
func (a *Agent) Pid() int { return a.cmd.Process.Pid }

// AuditEmpty fails the test if anything is left over, missing or half done.
func (a *Agent) AuditEmpty(t testing.TB) {
	t.Helper()
	found, err := a.Audit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Errorf("audit: %+v", f)
	}
}
