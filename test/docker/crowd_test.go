package docker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/live"
	"github.com/heddle-network/heddle/crowd/report"
	doordocker "github.com/heddle-network/heddle/door/docker"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/world"
)

// talkers are people who ask for pages, and call each other.
const talkers = `
crowd: talkers
users: 4
clock: {start: "Mon 09:00", length: %s}
personas:
  talker: {share: 100%%, link: {delay: 5ms}, does: {read: 30/m, talk: 10/m}}
behaviours:
  read:
    start: page
    patience: 1m
    states:
      page: {do: web.page, sends: 300B, receives: 10KB, expect: 5ms, next: {end: 1}}
  talk:
    start: call
    patience: 1m
    states:
      call: {do: voice.call, sends: 160B, receives: 160B, every: 20ms, lasts: 500ms, next: {end: 1}}
`

// crowd has Docker make the users of a crowd: containers that heddle attaches, and that are gone afterwards, whatever ends the run.
func crowd(t *testing.T, l *docker.Lab) {
	c := dockerCrowd{l.Hosts[0]}
	c.Run(t, "sh", "-c", "echo nameserver 192.0.2.53 >/etc/resolv.conf")
	if os.Getenv("HEDDLE_DOCKER") != "" { // a current engine asks for its containers only servers that it was told of
		c.DockerArgs = []string{"--dns", "192.0.2.53"}
		c.StopDocker(t)
		c.StartDocker(t)
	}
	c.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "-o", "mode=bridge", "--ipv6", "--subnet", "10.63.0.0/24", "--subnet", "fd63::/64", "people")
	t.Run("refused", c.refused)
	t.Run("played", c.played)
	t.Run("scaled", c.scaled)
	t.Run("stranger", c.stranger)
	t.Run("killed", c.killed)
	c.Docker(t, "network", "rm", "people")
	nothingLeft(t, l)
}

type dockerCrowd struct{ *docker.Host }

// heddle runs the command in the host, where the containers' processes are seen.
func (c dockerCrowd) heddle(t *testing.T, args ...string) (string, error) {
	return c.TryRun(append([]string{cell.Build(t, "heddle")}, args...)...)
}

// plays runs a crowd. On a busy machine a driver's answer may not be ready in time, which whoever starts a container is told.
func (c dockerCrowd) plays(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	said, err = c.heddle(t, args...)
	for again := 0; again < 2 && err != nil && docker.Late(said); again++ {
		said, err = c.heddle(t, args...)
	}
	return said, err
}

// file is the scenario, for so long.
func (c dockerCrowd) file(t *testing.T, length string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "talkers.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, talkers, length), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// running is the run that goes on, once it plays.
func (c dockerCrowd) running(t *testing.T) (r live.Run) {
	t.Helper()
	world.Within(t, 2*time.Minute, "the crowd plays", func() error {
		out, err := c.heddle(t, "crowd", "status", "-o", "json")
		var all struct{ Items []live.Run }
		if err == nil {
			err = json.Unmarshal([]byte(out), &all)
		}
		if err == nil && (len(all.Items) != 1 || all.Items[0].Now == nil) {
			err = errors.New(out)
		}
		if err == nil {
			r = all.Items[0]
		}
		return err
	})
	return r
}

// begin begins a run that lasts.
func (c dockerCrowd) begin(t *testing.T) (run live.Run, cmd *exec.Cmd) {
	t.Helper()
	cmd, err := c.Command(t.Context(), cell.Build(t, "heddle"), "crowd", "run", c.file(t, "10m"), "--network", "people", "--as", "docker")
	if err == nil {
		cmd.Env = docker.Environment()
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.running(t), cmd
}

// users are the names of the containers that run, or of all.
func (c dockerCrowd) users(t *testing.T, flags ...string) []string {
	t.Helper()
	return strings.Fields(c.Docker(t, append([]string{"ps", "--format", "{{.Names}}", "--filter", "label=heddle.crowd"}, flags...)...))
}

// gone: no container, image or folder of a crowd is left, and the agent has nothing to complain of.
func (c dockerCrowd) gone(t *testing.T) {
	t.Helper()
	if left := c.users(t, "--all"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	if left := c.Docker(t, "images", "-q", "heddle-crowd"); left != "" {
		t.Errorf("left are images %s", left)
	}
	if out, err := c.TryRun("ls", "/run/heddle-crowd"); err == nil {
		t.Errorf("left are folders %s", out)
	}
	world.Within(t, time.Minute, "all endpoints are gone", func() error {
		all, err := c.Endpoints(t.Context())
		if err == nil && len(all) > 0 {
			err = fmt.Errorf("%v", all)
		}
		return err
	})
	quietAudit(t, c.Host, "the crowd")
}

// refused: what cannot be is said before anybody is attached.
func (c dockerCrowd) refused(t *testing.T) {
	c.Heddle(t, "network", "create", "own", "--mode", "bridge", "--subnet", "10.64.0.0/24")
	defer c.Heddle(t, "network", "delete", "own")
	c.Docker(t, "network", "create", "-d", "heddle", "-o", "mode=bridge", "--subnet", "10.65.0.0/24", "theirs")
	defer c.Docker(t, "network", "rm", "theirs")
	file := c.file(t, "1s")
	for _, x := range []struct {
		code heddle.Code
		want string
		args []string
	}{
		{heddle.NoNetwork, "docker network create -d heddle", []string{"--network", "own", "--as", "docker"}},
		{heddle.NoNetwork, "addresses are of driver default", []string{"--network", "theirs", "--as", "docker"}},
		{heddle.BadArgument, "--network", []string{"--as", "docker"}},
		{heddle.BadArgument, "namespace, docker, podman", []string{"--network", "people", "--as", "jail"}},
	} {
		out, err := c.heddle(t, append([]string{"crowd", "run", file}, x.args...)...)
		if err == nil || !strings.Contains(out, string(x.code)) || !strings.Contains(out, x.want) || strings.Contains(out, "attached") {
			t.Errorf("%v: %v, %s", x.args, err, out)
		}
	}
	c.gone(t)
}

// played: people in containers find services by their names, and each other.
func (c dockerCrowd) played(t *testing.T) {
	out := filepath.Join(t.TempDir(), "report.json")
	said, err := c.plays(t, "crowd", "run", c.file(t, "8s"), "--network", "people", "--as", "docker", "--out", out)
	if err != nil && !strings.Contains(said, "the crowd itself was late") {
		t.Fatalf("%v: %s", err, said)
	}
	r, err := report.Read(out)
	if err != nil || r.As != "docker" {
		t.Fatalf("%v, as %q", err, r.As)
	}
	one := r.Rounds[0]
	for what, n := range map[string]int64{"read": one.Behaviours["read"].Achieved, "talk": one.Behaviours["talk"].Achieved} {
		if n == 0 {
			t.Errorf("nobody did %s: %s", what, said)
		}
	}
	if one.Actions["dns.query"].Count == 0 {
		t.Errorf("nobody asked for a name: %+v", one.Actions)
	}
	if len(one.Failures) > 0 {
		t.Errorf("steps failed: %v", one.Failures)
	}
	c.gone(t)
}

// scaled: users who come are containers, and those of users who go are removed.
func (c dockerCrowd) scaled(t *testing.T) {
	_, run := c.begin(t)
	for _, users := range []int{4, 6, 2} {
		if out, err := c.heddle(t, "crowd", "scale", strconv.Itoa(users)); err != nil {
			t.Errorf("%d users: %v: %s", users, err, out)
		}
		all := c.users(t)
		there, err := c.Endpoints(t.Context())
		attached := 0
		for _, e := range there {
			if doordocker.OfDocker(e.ID) {
				attached++
			}
		}
		if err != nil || len(all) != users || attached != users {
			t.Errorf("%d users are %v, and of their endpoints there are %d: %v", users, all, attached, err)
		}
	}
	quietAudit(t, c.Host, "a scale")
	if out, err := c.heddle(t, "crowd", "down"); err != nil {
		t.Errorf("%v: %s", err, out)
		run.Process.Kill() // it would play to its end
	}
	run.Wait()
	c.gone(t)
}

// stranger: somebody else's container has the name of a user. The crowd ends, and leaves it alone.
func (c dockerCrowd) stranger(t *testing.T) {
	run(t, c.Host, "crowd-user-3", "--net", "none")
	out, err := c.heddle(t, "crowd", "run", c.file(t, "1s"), "--network", "people", "--as", "docker")
	if err == nil || !strings.Contains(out, "crowd-user-3") || !strings.Contains(out, "already in use") || !strings.Contains(out, "docker rm -f") {
		t.Errorf("%v: %s", err, out)
	}
	c.gone(t)
	c.Docker(t, "rm", "-f", "crowd-user-3") // which is there
}

// killed: the containers of a crowd that is killed end, and are removed by the next one, or by hand.
func (c dockerCrowd) killed(t *testing.T) {
	for _, by := range [][]string{{"crowd", "down"}, {"crowd", "run", c.file(t, "1s"), "--network", "people", "--as", "docker"}} {
		running, cmd := c.begin(t)
		c.Run(t, "kill", "-9", strconv.Itoa(running.PID))
		cmd.Wait()
		world.Within(t, time.Minute, "the containers end", func() error {
			if still := c.users(t); len(still) > 0 {
				return fmt.Errorf("%v", still)
			}
			return nil
		})
		if left := c.users(t, "--all"); len(left) != 4 {
			t.Errorf("left are %v", left)
		}
		world.Within(t, time.Minute, "the agent removes the services", func() error {
			all, err := c.Endpoints(t.Context())
			if err == nil && len(all) > 0 {
				err = fmt.Errorf("%v", all)
			}
			return err
		})
		if out, err := c.plays(t, by...); err != nil && !strings.Contains(out, "the crowd itself was late") {
			t.Errorf("%v: %v: %s", by, err, out)
		}
		c.gone(t)
	}
}
