package hardship_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestSecondAgent: one run folder has one agent; the second goes and the first
// does not notice.
func TestSecondAgent(t *testing.T) {
	cell.Need(t)
	dir := folder(t)
	first := newDaemon(t, dir).ready(t)
	code, words := newDaemon(t, dir).exit(t)
	if code != 5 || !strings.Contains(words, "[HDL-4007]") {
		t.Errorf("exit code %d: %s", code, words)
	}
	if _, err := first.Status(ctx); err != nil {
		t.Errorf("the first agent is disturbed: %v", err)
	}
}

// TestStaleSocket: the socket of a dead agent is replaced.
func TestStaleSocket(t *testing.T) {
	cell.Need(t)
	dir := folder(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "run", "heddle.sock"), Net: "unix"})
	cell.Must(t, err)
	l.SetUnlinkOnClose(false)
	cell.Must(t, l.Close())
	newDaemon(t, dir).ready(t)
}

// TestStopped: an agent that hangs holds up nobody's traffic; the command line
// says in time that it waits in vain, and all goes on afterwards.
func TestStopped(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		a := cell.Start(t, folder(t))
		createNetwork(t, a, mode, 0)
		attach(t, a, 0, "one")
		end := startPing(t, "one", attach(t, a, 0, "two"))
		stop(t, a.Pid())
		woken := time.AfterFunc(time.Minute, func() { syscall.Kill(a.Pid(), syscall.SIGCONT) })
		code, words, took := runHeddle(t, a.Socket, "status", "--wait", "--timeout", "1s")
		if code != 6 || !strings.Contains(words, "HDL-4006") || took > 30*time.Second {
			t.Errorf("exit code %d after %v: %s", code, took, words)
		}
		time.Sleep(2 * time.Second)
		woken.Stop()
		syscall.Kill(a.Pid(), syscall.SIGCONT)
		if code, words, _ = runHeddle(t, a.Socket, "status"); code != 0 {
			t.Errorf("exit code %d: %s", code, words)
		}
		end()
		a.AuditEmpty(t)
	})
}

// stop stops a process, and waits until each of its threads has stopped: SIGSTOP takes effect some time
// after kill(2) has returned.
func stop(t *testing.T, pid int) {
	t.Helper()
	cell.Must(t, syscall.Kill(pid, syscall.SIGSTOP))
	world.Soon(t, "the agent stops", func() error {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, file := range files {
			if stat, err := os.ReadFile(file); err == nil && !strings.Contains(string(stat), ") T ") {
				return fmt.Errorf("%s: %s", file, stat)
			}
		}
		return err
	})
}

// TestNoAgent: without an agent the command line says so, and does not wait for one.
func TestNoAgent(t *testing.T) {
	cell.Need(t)
	code, words, took := runHeddle(t, filepath.Join(t.TempDir(), "none.sock"), "status")
	if code != 3 || !strings.Contains(words, "HDL-4001") || took > 5*time.Second {
		t.Errorf("exit code %d after %v: %s", code, took, words)
	}
}
