package docker

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// callTime bounds a command in a host: Docker waits up to 15 s for a driver that
// is away, and a little more for a container that does not stop.
const callTime = 90 * time.Second

// Name is the host's.
func (h *Host) Name() string { return h.Host.Name }

// Run runs a command in the host.
func (h *Host) Run(t testing.TB, argv ...string) string {
	t.Helper()
	out, err := h.TryRun(argv...)
	if err != nil {
		t.Fatalf("%s on %s: %v\n%s", strings.Join(argv, " "), h.Name(), err, out)
	}
	return out
}

// TryRun runs a command in the host, and returns what it printed.
func (h *Host) TryRun(argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	cmd, err := h.Command(ctx, argv...)
	if err != nil {
		return "", err
	}
	cmd.Env = Environment()
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Environment has programs of the host use its own dockerd, whatever the caller's
// shell is set to, and the distribution's before others: a client of another version
// than dockerd's knows options that it does not.
// HEDDLE_DOCKER is the folder of another engine's programs: see fetch-engine.sh.
func Environment() []string {
	path := "/usr/sbin:/usr/bin:/sbin:/bin:" + os.Getenv("PATH")
	if engine := os.Getenv("HEDDLE_DOCKER"); engine != "" {
		path = engine + ":" + path
	}
	all := []string{"NO_COLOR=1", "HOME=/run", "PATH=" + path}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "DOCKER_") && name != "HOME" && name != "PATH" {
			all = append(all, v)
		}
	}
	return all
}

// Docker runs the docker command against the host's dockerd.
func (h *Host) Docker(t testing.TB, args ...string) string {
	t.Helper()
	out, err := h.TryDocker(args...)
	if err != nil {
		t.Fatalf("docker %s on %s: %v\n%s", strings.Join(args, " "), h.Name(), err, out)
	}
	return out
}

// TryDocker is Docker for a command that may fail. On a machine with more to do than
// it can, the driver's answer may not be ready in the time that Docker waits for it;
// then the caller is told to try again, and does so. What was made too late may be in
// its way: the container that did not start, and the network until it is undone.
func (h *Host) TryDocker(args ...string) (out string, err error) {
	late := false
	for range 10 {
		out, err = h.TryRun(append([]string{"docker"}, args...)...)
		late = late || Late(out)
		if err == nil || !late {
			break
		}
		if i := slices.Index(args, "--name"); i > 0 && args[0] == "run" {
			h.TryRun("docker", "rm", "-f", args[i+1])
		}
		time.Sleep(2 * time.Second)
	}
	return out, err
}

// Late reports whether a text tells that the driver's answer, or the store's that it needs, was not ready
// in the time that a call of Docker's has.
func Late(text string) bool {
	return strings.Contains(text, string(heddle.Waited)) || strings.Contains(text, string(heddle.StoreDown))
}

// Heddle runs the heddle command against the host's agent.
func (h *Host) Heddle(t testing.TB, args ...string) string {
	t.Helper()
	out, err := h.TryHeddle(t, args...)
	if err != nil {
		t.Fatalf("heddle %s on %s: %v\n%s", strings.Join(args, " "), h.Name(), err, out)
	}
	return out
}

// TryHeddle is Heddle for a command that may fail.
func (h *Host) TryHeddle(t testing.TB, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(cell.Build(t, "heddle"), append([]string{"--socket", h.Socket}, args...)...)
	cmd.Env = Environment()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// StartAgent starts the host's agent; without arguments with those of before.
func (h *Host) StartAgent(t testing.TB, args ...string) {
	t.Helper()
	if len(args) > 0 {
		h.args = args
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := h.Host.StartAgent(ctx, h.args...); err != nil {
		t.Fatalf("start the agent of %s: %v\n%s", h.Name(), err, h.AgentLog())
	}
}

// KillAgent ends the host's agent without a word.
func (h *Host) KillAgent(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := h.Host.KillAgent(ctx); err != nil {
		t.Fatalf("kill the agent of %s: %v", h.Name(), err)
	}
}

// AgentLog is the end of the agent's log.
func (h *Host) AgentLog() string { return tail(h.Log) }

func tail(file string) string {
	b, _ := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}
