// Package crash_test kills the agent before every step of every operation: the
// agent itself counts the steps, none are listed here. After each restart the
// audit is empty and the operation was done whole or not at all.
package crash_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

var ctx = context.Background()

func network(mode string) heddle.Network {
	n := heddle.Network{Name: "net", Mode: mode, Subnets: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/24"), netip.MustParsePrefix("fd20::/64")}}
	if mode == "macvlan" {
		n.Parent, n.Subnets = "lan0", nil
		n.Ranges = []netip.Prefix{netip.MustParsePrefix("10.30.0.128/25"), netip.MustParsePrefix("fd30::1:0/112")}
	}
	return n
}

// lan gives the host a NIC on a LAN.
func lan(t *testing.T) {
	t.Helper()
	cell.Sh(t, `ip link add lan0 type veth peer name wire0; ip link set wire0 up; ip link set lan0 up
		ip address add 10.30.0.1/24 dev lan0; ip address add fd30::1/64 dev lan0 nodad`)
	t.Cleanup(func() { cell.TrySh("ip link del lan0") })
}

func request(mode, pod string) heddle.AttachRequest {
	q := heddle.AttachRequest{Network: "net", ID: heddle.EndpointID{Container: "c1", IfName: "eth0"}, Netns: pod}
	if mode == "bridge" || mode == "routed" {
		q.Ports = []heddle.PortMapping{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}
	}
	return q
}

// operation is something an agent does, from a state that prepare makes. After
// the crash, absent or present says whether it was done; nothing in between.
type operation struct {
	name    string
	prepare func(t *testing.T, a *cell.Agent, pod string)
	run     func(a *cell.Agent, pod string) error
	clear   func(t *testing.T, a *cell.Agent)
	// settle waits for what the agent does by itself after its start; nil: nothing.
	settle func(t *testing.T, a *cell.Agent)
	// fewest is the least number of steps that it can have; 0 means four.
	fewest int
}

func operations(mode string) []operation {
	create := func(t *testing.T, a *cell.Agent, _ string) {
		_, _, err := a.CreateNetwork(ctx, network(mode), false)
		cell.Must(t, err)
	}
	attach := func(a *cell.Agent, pod string) error {
		_, err := a.Attach(ctx, request(mode, pod))
		return err
	}
	detach := func(a *cell.Agent) error {
		_, err := a.Detach(ctx, request(mode, "").ID)
		return err
	}
	clearAll := func(t *testing.T, a *cell.Agent) {
		cell.Must(t, detach(a))
		if all, err := a.Networks(ctx); err == nil && len(all) > 0 {
			cell.Must(t, a.DeleteNetwork(ctx, "net"))
		}
	}
	fewest := 0
	if mode == "macvlan" {
		fewest = 2 // the ledger and one link
	}
	return []operation{
		{"network create", func(*testing.T, *cell.Agent, string) {}, func(a *cell.Agent, _ string) error {
			_, _, err := a.CreateNetwork(ctx, network(mode), false)
			return err
		}, clearAll, nil, 0},
		{"network delete", create, func(a *cell.Agent, _ string) error { return a.DeleteNetwork(ctx, "net") }, clearAll, nil, fewest},
		{"attach", create, attach, clearAll, nil, 0},
		{"detach", func(t *testing.T, a *cell.Agent, pod string) {
			create(t, a, pod)
			cell.Must(t, attach(a, pod))
		}, func(a *cell.Agent, _ string) error { return detach(a) }, clearAll, nil, 0},
	}
}

func TestKillAtEveryStep(t *testing.T) {
	cell.Need(t)
	lan(t)
	for _, mode := range soak.OneOf(t, "bridge", "routed", "macvlan") {
		for _, op := range operations(mode) {
			t.Run(mode+"/"+op.name, func(t *testing.T) { killAtEveryStep(t, op) })
		}
	}
}

// TestKillInBatch kills the agent while it makes several endpoints at once. Called again, the batch is whole.
func TestKillInBatch(t *testing.T) {
	cell.Need(t)
	var batch []heddle.AttachRequest
	for _, name := range []string{"c1", "c2"} {
		batch = append(batch, heddle.AttachRequest{Network: "net", ID: heddle.EndpointID{Container: name, IfName: "eth0"}, Netns: cell.Netns(t, name)})
	}
	attach := func(a *cell.Agent) error {
		results, err := a.AttachBatch(ctx, batch)
		for _, r := range results {
			if err == nil && r.Error != nil {
				err = r.Error
			}
		}
		return err
	}
	killAtEveryStep(t, operation{name: "attach batch", prepare: func(t *testing.T, a *cell.Agent, _ string) {
		_, _, err := a.CreateNetwork(ctx, network("bridge"), false)
		cell.Must(t, err)
	}, run: func(a *cell.Agent, _ string) error { return attach(a) }, clear: func(t *testing.T, a *cell.Agent) {
		cell.Must(t, attach(a))
		for _, q := range batch {
			_, err := a.Detach(ctx, q.ID)
			cell.Must(t, err)
			if left := cell.Sh(t, "ip -n %s -br link | grep -v ^lo || true", q.ID.Container); left != "" {
				t.Errorf("left in %s: %s", q.ID.Container, left)
			}
		}
		cell.Must(t, a.DeleteNetwork(ctx, "net"))
	}, fewest: 8})
}

// TestStopInBatch ends the agent (SIGTERM) while it makes many endpoints: it begins no further one, and those that it has made
// are whole.
func TestStopInBatch(t *testing.T) {
	cell.Need(t)
	dir, count := t.TempDir(), min(max(160, 8*runtime.GOMAXPROCS(0)), heddle.MaxBatch)
	a := cell.Start(t, dir)
	_, _, err := a.CreateNetwork(ctx, network("bridge"), false)
	cell.Must(t, err)
	cell.Sh(t, "for i in $(seq 0 %d); do ip netns add many$i; done", count-1)
	t.Cleanup(func() { cell.TrySh("for i in $(seq 0 %d); do ip netns del many$i; done", count-1) })
	var batch []heddle.AttachRequest
	for i := range count {
		name := fmt.Sprint("many", i)
		batch = append(batch, heddle.AttachRequest{Network: "net", ID: heddle.EndpointID{Container: name, IfName: "eth0"}, Netns: "/run/netns/" + name})
	}
	answered := make(chan error, 1)
	go func() {
		_, err := a.AttachBatch(ctx, batch)
		answered <- err
	}()
	_, err = poll.Until(time.Minute, time.Millisecond, func() error {
		all, err := a.Endpoints(ctx)
		if err == nil && len(all) == 0 {
			err = errors.New("no endpoint yet")
		}
		return err
	})
	cell.Must(t, err)
	a.Stop()
	cell.Must(t, <-answered) // each with its result
	a = cell.Start(t, dir)
	a.AuditEmpty(t)
	made, err := a.Endpoints(ctx)
	cell.Must(t, err)
	if len(made) == 0 || len(made) == count {
		t.Errorf("%d of %d endpoints were made", len(made), count)
	}
	for _, e := range made {
		_, err := a.Detach(ctx, e.ID)
		cell.Must(t, err)
	}
	cell.Must(t, a.DeleteNetwork(ctx, "net"))
	a.AuditEmpty(t)
}

// killAtEveryStep has the agent that comes back after a crash die at the next step (see soak.Next).
func killAtEveryStep(t *testing.T, op operation) {
	dir := t.TempDir()
	pod := cell.Netns(t, "pod")
	armed := filepath.Join(dir, "armed")
	start := func(step int) *cell.Agent {
		return cell.Start(t, dir, fmt.Sprintf("HEDDLE_CRASH_AT=%d", step), "HEDDLE_CRASH_AFTER="+armed)
	}
	a := start(soak.Next(t, 0))
	for step := soak.Next(t, 0); ; step = soak.Next(t, step) {
		op.prepare(t, a, pod)
		cell.Must(t, os.WriteFile(armed, nil, 0o600))
		err := op.run(a, pod)
		if err == nil && !a.Dead() {
			os.Remove(armed)
			t.Logf("fewer than %d steps", step)
			if step-1 < cmp.Or(op.fewest, 4) {
				t.Errorf("only %d steps: the agent does not count them", step-1)
			}
			a.AuditEmpty(t)
			op.clear(t, a)
			a.AuditEmpty(t)
			return
		}
		a.WaitDead(t)
		os.Remove(armed)
		a = start(soak.Next(t, step))
		if op.settle != nil {
			op.settle(t, a)
		}
		a.AuditEmpty(t)
		op.clear(t, a)
		a.AuditEmpty(t)
		noTrace(t, step)
	}
}

// noTrace looks with the system's own tools, not the agent's.
func noTrace(t *testing.T, step int) {
	t.Helper()
	out := cell.Sh(t, `ip -br link | grep -E '^h[bdms]' || true; ip route show table all proto 104; ip -6 route show table all proto 104
		nft list tables | grep heddle || true; ip -n pod -br link | grep -v ^lo || true`)
	if out != "" {
		t.Errorf("left after a crash at step %d:\n%s", step, out)
	}
}
