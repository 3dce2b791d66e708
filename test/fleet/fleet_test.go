// Package fleet_test has several hosts, each with an agent, that share a store and
// networks: what a user of more than one machine does.
package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/forge"
	"github.com/heddle-network/heddle/test/world"
)

func TestMain(m *testing.M) {
	lab.Dispatch(os.Args[1:])
	forge.Dispatch(os.Args[1:])
	os.Exit(cell.Main(m))
}

// fleet is a lab whose hosts share an embedded store.
type fleet struct {
	lab   *lab.Lab
	hosts []*host
}

// host is a host of the lab with its agent's client.
type host struct {
	*lab.Host
	*client.Client
	world.Netns
	args []string
}

// newFleet makes a lab of hosts without a store; join gives them one.
func newFleet(t *testing.T, hosts int, change ...func(*lab.Options)) *fleet {
	t.Helper()
	cell.Need(t)
	o := lab.Options{Name: strings.ToLower(t.Name()), Hosts: hosts, Dir: t.TempDir(), AgentCommand: []string{cell.Build(t, "heddled")}, AgentsLater: true}
	for _, c := range change {
		c(&o)
	}
	l, err := lab.Up(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return fleetOf(t, l)
}

// raise makes a lab that is written out, with agents to be started later unless it
// has a store.
func raise(t *testing.T, topology lab.Topology) *fleet {
	t.Helper()
	cell.Need(t)
	topology.Dir, topology.Agent.Command = t.TempDir(), []string{cell.Build(t, "heddled")}
	topology.Agent.Later = topology.Store == ""
	l, err := lab.Raise(context.Background(), topology)
	if err != nil {
		t.Fatal(err)
	}
	f := fleetOf(t, l)
	if topology.Store != "" { // it may not answer yet when the agents do
		f.everywhere(t, "the store answers", func(h *host) error {
			s, err := h.Status(t.Context())
			if part := s.Part("store"); err == nil && part.State != "ok" {
				err = errors.New(part.Detail)
			}
			return err
		})
	}
	return f
}

// plainHosts are hosts with one NIC each on one switch.
func plainHosts(number int) (all []lab.Node) {
	for i := range number {
		all = append(all, lab.Node{Name: fmt.Sprint("host", i+1), NICs: []lab.NIC{{Switch: lab.SwitchName}}})
	}
	return all
}

// fleetOf takes over a lab, which goes with the test.
func fleetOf(t *testing.T, l *lab.Lab) *fleet {
	f := &fleet{lab: l}
	t.Cleanup(func() { f.end(t) })
	for _, h := range l.Hosts {
		f.hosts = append(f.hosts, &host{Host: h, Client: client.New(h.Socket), Netns: world.Netns{Name: h.Name, Path: h.Netns}})
	}
	return f
}

// newCluster makes a lab of hosts that share an embedded store, which has its members:
// while one is let in, the store may keep its users waiting.
func newCluster(t *testing.T, hosts int, change ...func(*lab.Options)) *fleet {
	t.Helper()
	f := newFleet(t, hosts, change...)
	f.hosts[0].start(t, "--store", "embedded", "--underlay", "eth0")
	f.join(t, f.hosts[1:]...)
	f.promote(t)
	return f
}

// promote has the store kept by as many hosts as it should, and waits until they do.
func (f *fleet) promote(t *testing.T) {
	t.Helper()
	names := lab.Keepers(f.lab.Hosts[1:])
	if len(names) > 0 {
		f.hosts[0].cli(t, append([]string{"host", "promote"}, names...)...)
		f.membersVote(t, len(names)+1)
	}
}

// join starts agents that join the first host's cluster.
func (f *fleet) join(t *testing.T, hosts ...*host) {
	t.Helper()
	if len(hosts) == 0 {
		return
	}
	token := strings.TrimSpace(f.hosts[0].cli(t, "host", "token", "--uses", fmt.Sprint(len(hosts))))
	for _, h := range hosts {
		file, err := h.PutToken(context.Background(), token)
		if err != nil {
			t.Fatal(err)
		}
		h.start(t, "--join", f.hosts[0].Addr4.String(), "--token-file", file, "--underlay", "eth0")
	}
}

func (h *host) start(t testing.TB, args ...string) {
	t.Helper()
	if len(args) > 0 {
		h.args = args
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := h.StartAgent(ctx, args...); err != nil {
		t.Fatalf("start %s: %v\n%s", h.Host.Name, err, h.log())
	}
}

func (h *host) log() string {
	b, _ := os.ReadFile(h.Log)
	lines := strings.Split(string(b), "\n")
	return strings.Join(lines[max(0, len(lines)-25):], "\n")
}

// cli runs the command line against the host's agent.
func (h *host) cli(t testing.TB, args ...string) string {
	t.Helper()
	out, err := h.tryCLI(t, args...)
	if err != nil {
		t.Fatalf("heddle %s on %s: %v\n%s", strings.Join(args, " "), h.Host.Name, err, out)
	}
	return out
}

func (h *host) tryCLI(t testing.TB, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(cell.Build(t, "heddle"), append([]string{"--socket", h.Socket}, args...)...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// kill ends the host's agent without a word.
func (h *host) kill(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := h.KillAgent(ctx); err != nil {
		t.Fatalf("kill the agent of %s: %v", h.Host.Name, err)
	}
}

// network makes an overlay network on the first host and waits until all have it.
func (f *fleet) network(t testing.TB, name, subnet4, subnet6 string, more ...string) {
	t.Helper()
	args := append([]string{"network", "create", name, "--mode", "overlay", "--subnet", subnet4}, more...)
	if subnet6 != "" {
		args = append(args, "--subnet", subnet6)
	}
	f.hosts[0].cli(t, args...)
	f.everywhere(t, "network "+name+" is there", func(h *host) error {
		_, err := h.Network(context.Background(), name)
		return err
	})
}

// everywhere waits until a condition holds on all hosts, and returns how long that
// took.
func (f *fleet) everywhere(t testing.TB, what string, try func(*host) error) time.Duration {
	t.Helper()
	began := time.Now()
	for _, h := range f.hosts {
		world.Within(t, 3*time.Minute, what+" on "+h.Host.Name, func() error {
			err := try(h)
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, h.log())
			}
			return err
		})
	}
	return time.Since(began)
}

// parallel runs something on all hosts, on eight at once: the machine of all of them
// has few cores, and the store's members want some time of them too.
func (f *fleet) parallel(do func(*host)) {
	var all sync.WaitGroup
	room := make(chan struct{}, 8)
	for _, h := range f.hosts {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			do(h)
		})
	}
	all.Wait()
}

// end checks that no host has anything left to complain about: what a test changed last, its agents
// may still be following.
func (f *fleet) end(t *testing.T) {
	for _, h := range f.hosts {
		if t.Failed() {
			t.Logf("log of %s:\n%s", h.Host.Name, h.log())
			continue
		}
		world.Soon(t, "audit on "+h.Host.Name, func() error {
			if found, err := h.Audit(context.Background()); err == nil && len(found) > 0 {
				return fmt.Errorf("%v", found)
			}
			return nil
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := f.lab.Down(ctx); err != nil {
		t.Error(err)
	}
}
