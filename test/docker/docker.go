// Package docker has several hosts, each with an agent and a real dockerd, that
// share a store: what a user of Docker on more than one machine has. A host is a
// lab host, so that its dockerd sees no other's sockets, folders, control groups
// and host name. Nothing is pulled: the image is made here.
package docker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// Main is called from TestMain: the hosts' inits are this binary too.
func Main(m *testing.M) int {
	lab.Dispatch(os.Args[1:])
	return cell.Main(m)
}

// Need skips the test where a program is missing.
func Need(t testing.TB, more ...string) {
	t.Helper()
	cell.Need(t)
	if engine := os.Getenv("HEDDLE_DOCKER"); engine != "" {
		if _, err := os.Stat(filepath.Join(engine, "dockerd")); err != nil {
			t.Fatalf("HEDDLE_DOCKER: %v", err)
		}
	}
	for _, p := range append([]string{"dockerd", "docker", "containerd", "runc", "iptables", "busybox", "tar", "nsenter"}, more...) {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed (Debian: docker.io, iptables, busybox-static)", p)
		}
	}
}

// Lab is a lab whose hosts have agents of one cluster, and a dockerd each.
type Lab struct {
	*lab.Lab
	Hosts []*Host
}

// Host is a host of the lab: its agent's client, its network namespace, its
// dockerd.
type Host struct {
	*lab.Host
	*client.Client
	world.Netns
	args   []string // of the agent
	daemon *daemon
	// DockerArgs are given to dockerd at its next start, beside the usual ones.
	DockerArgs []string
}

// New makes a lab of hosts whose agents share an embedded store, with a dockerd
// each that has the image "box". One host alone has no store.
func New(t testing.TB, hosts int, change ...func(*lab.Options)) *Lab {
	t.Helper()
	l := NewBare(t, hosts, change...)
	if hosts == 1 {
		l.Hosts[0].StartAgent(t, "--underlay", "eth0")
	} else {
		l.Hosts[0].StartAgent(t, "--store", "embedded", "--underlay", "eth0")
		l.Join(t, l.Hosts[1:]...)
	}
	l.Parallel(func(h *Host) { h.StartDocker(t); h.Image(t) })
	if t.Failed() {
		t.FailNow()
	}
	if hosts >= members {
		l.Hosts[0].Heddle(t, "host", "promote", l.Hosts[1].Name(), l.Hosts[2].Name())
		l.settle(t)
	}
	return l
}

// members is how many hosts of a small lab keep the store, if it has as many.
const members = 3

// settle waits until the store has its members: while one is let in it may be slower
// than Docker's calls are let wait.
func (l *Lab) settle(t testing.TB) {
	t.Helper()
	world.Within(t, 3*time.Minute, "the store has its members", func() error {
		all, err := l.Hosts[0].Client.Hosts(context.Background())
		keep := 0
		for _, h := range all {
			if h.Role != "client" {
				keep++
			}
		}
		if err == nil && keep < members {
			err = fmt.Errorf("%d of %d", keep, members)
		}
		return err
	})
}

// NewBare makes the hosts, without agents and without dockerds.
func NewBare(t testing.TB, hosts int, change ...func(*lab.Options)) *Lab {
	t.Helper()
	Need(t)
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	o := lab.Options{Name: name[:min(len(name), 20)], Hosts: hosts, Dir: t.TempDir(), AgentCommand: []string{cell.Build(t, "heddled")}, AgentsLater: true}
	for _, c := range change {
		c(&o)
	}
	cell.Build(t, "heddle")
	up, err := lab.Up(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{Lab: up}
	t.Cleanup(func() { l.end(t) })
	for _, h := range up.Hosts {
		l.Hosts = append(l.Hosts, &Host{Host: h, Client: client.New(h.Socket), Netns: world.Netns{Name: h.Name, Path: h.Netns}})
	}
	return l
}

// Join starts agents that join the first host's cluster.
func (l *Lab) Join(t testing.TB, hosts ...*Host) {
	t.Helper()
	token := strings.TrimSpace(l.Hosts[0].Heddle(t, "host", "token", "--uses", fmt.Sprint(len(hosts))))
	for _, h := range hosts {
		file, err := h.PutToken(context.Background(), token)
		if err != nil {
			t.Fatal(err)
		}
		h.StartAgent(t, "--join", l.Hosts[0].Addr4.String(), "--token-file", file, "--underlay", "eth0")
	}
}

// Parallel runs something for all hosts at once.
func (l *Lab) Parallel(do func(*Host)) {
	var all sync.WaitGroup
	for _, h := range l.Hosts {
		all.Go(func() { do(h) })
	}
	all.Wait()
}

// Everywhere waits until a condition holds on all hosts, and returns how long that
// took.
func (l *Lab) Everywhere(t testing.TB, what string, try func(*Host) error) time.Duration {
	t.Helper()
	began := time.Now()
	for _, h := range l.Hosts {
		world.Within(t, 3*time.Minute, what+" on "+h.Name(), func() error {
			err := try(h)
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, h.AgentLog())
			}
			return err
		})
	}
	return time.Since(began)
}

// end ends the dockerds, looks for what is left over, and takes the lab down.
func (l *Lab) end(t testing.TB) {
	for _, h := range l.Hosts {
		if t.Failed() {
			t.Logf("%s: agent:\n%s\ndockerd:\n%s", h.Name(), h.AgentLog(), h.dockerLog())
		} else if found, err := h.Audit(context.Background()); err == nil && len(found) > 0 {
			t.Errorf("audit on %s: %v", h.Name(), found)
		}
		h.KillDocker()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := l.Down(ctx); err != nil {
		t.Error(err)
	}
}
