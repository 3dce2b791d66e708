package hardship_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// daemon is a heddled with flags of the test's choice.
type daemon struct {
	*client.Client
	cmd    *exec.Cmd
	dir    string
	output bytes.Buffer
}

func (d *daemon) socket() string { return filepath.Join(d.dir, "run", "heddle.sock") }

// newDaemon starts heddled on the folder; more flags may follow.
func newDaemon(t testing.TB, dir string, flags ...string) *daemon {
	t.Helper()
	return newDaemonUnder(t, nil, dir, flags...)
}

// newDaemonUnder starts it by way of another program, such as setpriv.
func newDaemonUnder(t testing.TB, program []string, dir string, flags ...string) *daemon {
	t.Helper()
	d := &daemon{dir: dir}
	d.Client = client.New(d.socket())
	argv := append(program, cell.Build(t, "heddled"), "--resolver", "none", "--state-dir", filepath.Join(dir, "state"), "--run-dir", filepath.Join(dir, "run"))
	argv = append(argv, flags...)
	d.cmd = exec.Command(argv[0], argv[1:]...)
	d.cmd.Stdout, d.cmd.Stderr = &d.output, &d.output
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cell.Must(t, d.cmd.Start())
	t.Cleanup(d.stop)
	return d
}

func (d *daemon) stop() {
	d.cmd.Process.Signal(syscall.SIGTERM)
	d.cmd.Wait()
}

// ready waits until it answers.
func (d *daemon) ready(t testing.TB) *daemon {
	t.Helper()
	_, err := poll.Until(time.Minute, 10*time.Millisecond, func() error {
		s, err := d.Status(ctx)
		if err == nil && !s.Ready {
			err = errors.New("it is not ready")
		}
		return err
	})
	if err != nil {
		d.cmd.Process.Kill()
		d.cmd.Wait()
		t.Fatalf("heddled does not answer: %v\n%s", err, d.output.String())
	}
	return d
}

// exit waits until it ends by itself and returns its exit code and words.
func (d *daemon) exit(t testing.TB) (int, string) {
	t.Helper()
	timer := time.AfterFunc(2*time.Minute, func() { d.cmd.Process.Kill() })
	defer timer.Stop()
	d.cmd.Wait()
	return d.cmd.ProcessState.ExitCode(), d.output.String()
}

// runHeddle runs the command line against a socket, and returns its exit code.
func runHeddle(t testing.TB, socket string, args ...string) (code int, out string, took time.Duration) {
	t.Helper()
	cmd := exec.Command(cell.Build(t, "heddle"), args...)
	cmd.Env = append(os.Environ(), "HEDDLE_SOCKET="+socket)
	began := time.Now()
	text, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text), time.Since(began)
}
