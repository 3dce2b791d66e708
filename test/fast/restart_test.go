package fast_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestReplaced: streams go on while the programs are taken away and put back, twenty
// times, on both hosts.
func TestReplaced(t *testing.T) {
	s := newScene(t)
	var streams []*stream
	for _, to := range append(s.b.Addrs(), s.far.Addrs()...) {
		streams = append(streams, newStream(t, s.a.Netns, netip.AddrPortFrom(to, 7000)))
	}
	for i := range 20 {
		s.first.FastPath(t, i%2 == 1)
		s.second.FastPath(t, i%4 < 2)
		for _, st := range streams {
			st.goesOn(t)
		}
	}
	for _, st := range streams {
		st.end(t)
	}
}

// TestAgents: streams go on while the agent is killed and started again, and it finds
// the fast path's programs and counters as they were. TestSoakAgents kills it a hundred
// times.
func TestAgents(t *testing.T) { agents(t, 10) }

func TestSoakAgents(t *testing.T) {
	soak.Need(t, "takes minutes")
	agents(t, 100)
}

func agents(t *testing.T, kills int) {
	cell.Need(t)
	for _, mode := range []string{"routed", "bridge"} {
		t.Run(mode, func(t *testing.T) { newPair(t, mode).outlive(t, kills) })
	}
}

// pair is a client and a server on one network of an agent's, with streams between
// them.
type pair struct {
	agent          *cell.Agent
	dir            string
	client, server world.Netns
	streams        []*stream
	port           string // the client's host end
}

func newPair(t *testing.T, mode string) *pair {
	t.Helper()
	p := &pair{dir: t.TempDir(), client: world.NewNetns(t, "client"), server: world.NewNetns(t, "server")}
	p.agent = cell.Start(t, p.dir)
	_, _, err := p.agent.CreateNetwork(context.Background(), heddle.Network{Name: "net", Mode: mode,
		Subnets: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/24"), netip.MustParsePrefix("fd20::/64")}}, false)
	if err != nil {
		t.Fatal(err)
	}
	p.port = attached(t, p.agent, p.client).ID.PortName()
	for _, a := range attached(t, p.agent, p.server).Addrs {
		p.server.Serve(t, 7000, a.Addr())
		p.streams = append(p.streams, newStream(t, p.client, netip.AddrPortFrom(a.Addr(), 7000)))
	}
	return p
}

// outlive kills the agent at moments that a seed gives.
func (p *pair) outlive(t *testing.T, kills int) {
	dice := rand.New(rand.NewPCG(seed(t), 0))
	var carried uint64
	for range kills {
		p.goOn(t)
		now := counts(t, p.agent)
		if now <= carried {
			t.Errorf("%d packets carried, %d before", now, carried)
		}
		carried = now
		p.agent.Kill()
		if dice.IntN(2) == 0 { // in the middle of its start, too
			half := exec.Command(cell.Build(t, "heddled"), "--resolver", "none", "--state-dir", filepath.Join(p.dir, "state"), "--run-dir", filepath.Join(p.dir, "run"))
			half.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if err := half.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(dice.IntN(100)) * time.Millisecond)
			half.Process.Kill()
			half.Wait()
		}
		p.agent = cell.Start(t, p.dir)
	}
	p.end(t)
}

// goOn waits for all streams to move.
func (p *pair) goOn(t *testing.T) {
	t.Helper()
	for _, st := range p.streams {
		st.goesOn(t)
	}
}

func (p *pair) end(t *testing.T) {
	t.Helper()
	for _, st := range p.streams {
		st.end(t)
	}
	p.agent.AuditEmpty(t)
	for _, c := range []world.Netns{p.client, p.server} {
		if _, err := p.agent.Detach(context.Background(), heddle.EndpointID{Container: c.Name, IfName: "eth0"}); err != nil {
			t.Error(err)
		}
	}
	if err := p.agent.DeleteNetwork(context.Background(), "net"); err != nil {
		t.Error(err)
	}
	p.agent.AuditEmpty(t)
	p.agent.Stop()
}

// TestRemovedByHand: whoever takes a program away slows packets down; the streams go
// on, and the agent puts it back.
func TestRemovedByHand(t *testing.T) {
	soak.Turn(t, 1)
	cell.Need(t)
	for mode, remove := range map[string]string{"routed": "tc qdisc del dev %s ingress", "bridge": "tc filter del dev %s ingress"} {
		t.Run(mode, func(t *testing.T) {
			p := newPair(t, mode)
			p.goOn(t)
			for range 3 {
				cell.Sh(t, remove, p.port)
				p.goOn(t)
				world.Within(t, 30*world.Patience, "the agent puts the program back", func() error {
					if out := cell.Sh(t, "tc filter show dev %s ingress", p.port); !strings.Contains(out, "heddle") {
						return fmt.Errorf("%s has %q", p.port, out)
					}
					return nil
				})
				before := counts(t, p.agent)
				p.goOn(t)
				if now := counts(t, p.agent); now <= before {
					t.Errorf("%d packets carried after the program was put back, %d before", now, before)
				}
			}
			p.end(t)
		})
	}
}

// seed is a number that is told, to do the same again with HEDDLE_SEED.
func seed(t *testing.T) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(os.Getenv("HEDDLE_SEED"), 10, 64)
	if err != nil {
		n = uint64(time.Now().UnixNano())
	}
	t.Logf("HEDDLE_SEED=%d", n)
	return n
}

func attached(t *testing.T, a *cell.Agent, p world.Netns) heddle.Endpoint {
	t.Helper()
	reply, err := a.Attach(context.Background(), heddle.AttachRequest{Network: "net", ID: heddle.EndpointID{Container: p.Name, IfName: "eth0"}, Netns: p.Path})
	if err != nil {
		t.Fatal(fmt.Errorf("attach %s: %w", p.Name, err))
	}
	return reply.Endpoint
}

// counts is what the agent says that it has carried for the client.
func counts(t *testing.T, a *cell.Agent) uint64 {
	t.Helper()
	e, err := a.Endpoint(context.Background(), heddle.EndpointID{Container: "client", IfName: "eth0"})
	if err != nil || e.Fast == nil {
		t.Fatalf("no counters of the fast path: %v", err)
	}
	return e.Fast.Carried()
}
