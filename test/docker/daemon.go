package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/poll"
)

// Where a host's dockerd is, seen from inside.
const (
	dockerSocket = "/run/docker.sock"
	dockerPid    = "/run/docker.pid"
)

// daemon is one run of dockerd. It ends with the test: nsenter, which is all that
// we have a hold of, takes it along when it is killed.
type daemon struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// StartDocker starts the host's dockerd and waits until it answers. One that runs
// is left alone.
func (h *Host) StartDocker(t testing.TB) {
	t.Helper()
	if err := h.TryStartDocker(); err != nil {
		t.Errorf("%v\n%s", err, h.dockerLog())
	}
}

// TryStartDocker is StartDocker for a dockerd that may not come up.
func (h *Host) TryStartDocker() error {
	if h.daemon.alive() {
		return nil
	}
	log, err := os.OpenFile(h.dockerLogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd, err := h.Command(context.Background(), slices.Concat([]string{"dockerd", "--host", "unix://" + dockerSocket, "--pidfile", dockerPid,
		"--data-root", "/var/lib/docker", "--exec-root", "/run/docker", "--log-level", "warn"}, h.DockerArgs)...)
	if err != nil {
		return err
	}
	// a dockerd that was killed leaves its process number, which may be another's by now
	h.TryRun("rm", "-f", dockerPid)
	cmd.Env, cmd.Stdout, cmd.Stderr = Environment(), log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	d := &daemon{cmd, make(chan struct{})}
	go func() { cmd.Wait(); close(d.done) }()
	h.daemon = d
	return h.awaitDocker()
}

func (h *Host) awaitDocker() error {
	_, err := poll.Until(callTime, 100*time.Millisecond, func() error {
		if !h.daemon.alive() {
			return poll.Final(fmt.Errorf("dockerd of %s ended", h.Name()))
		}
		if err := h.Engine("/_ping", nil); err != nil {
			return fmt.Errorf("dockerd of %s does not answer: %w", h.Name(), err)
		}
		return nil
	})
	return err
}

// KillDocker ends the host's dockerd without a word.
func (h *Host) KillDocker() {
	if h.daemon.alive() {
		h.daemon.cmd.Process.Kill()
		<-h.daemon.done
	}
}

// StopDocker ends the host's dockerd in order.
func (h *Host) StopDocker(t testing.TB) {
	t.Helper()
	if !h.daemon.alive() {
		return
	}
	h.Run(t, "sh", "-c", "kill -TERM $(cat "+dockerPid+")")
	select {
	case <-h.daemon.done:
	case <-time.After(callTime):
		h.KillDocker()
		t.Errorf("%v\n%s", errors.New("dockerd of "+h.Name()+" does not stop"), h.dockerLog())
	}
}

func (d *daemon) alive() bool {
	if d == nil {
		return false
	}
	select {
	case <-d.done:
		return false
	default:
		return true
	}
}

func (h *Host) dockerLogFile() string { return filepath.Join(filepath.Dir(h.Log), "dockerd.log") }

func (h *Host) dockerLog() string { return tail(h.dockerLogFile()) }
