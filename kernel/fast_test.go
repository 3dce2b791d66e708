package kernel

import (
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/routed"
	"github.com/heddle-network/heddle/test/cell"
)

// routedPort is a room with a container on a routed network, and the plan of the container.
func routedPort(t *testing.T) (*room, heddle.Plan) {
	t.Helper()
	r := newRoom(t)
	r.sh(uplinkScript)
	s := newScenario(t, "routed", routed.Mode{}, nil, 0)
	plan := s.endpoint(0)
	r.apply(s.netPlan)
	r.apply(plan)
	return r, plan
}

// TestFastPathFails: a handle that cannot open the fast path detaches the programs of the earlier
// handle, whose maps nobody would update any more. It tries again later, and attaches its own
// programs. A handle that only compares detaches nothing.
func TestFastPathFails(t *testing.T) {
	r, plan := routedPort(t)
	port := plan.Host.Programs[0].Link
	hangs := func() bool {
		t.Helper()
		index, err := r.k.listing().ifindex(port)
		cell.Must(t, err)
		id, err := r.k.listing().attachedProgram(index)
		cell.Must(t, err)
		return id != 0
	}
	if !hangs() {
		t.Fatal("no program hangs on the port")
	}
	var next *Kernel
	cell.Must(t, openNetns(t, r.host).Do(func() (err error) {
		next, err = Open()
		return err
	}))
	defer next.Close()
	next.Recast = func(c *ebpf.CollectionSpec) {
		for _, p := range c.Programs {
			p.Instructions = asm.Instructions{asm.Return()} // it returns no value: the verifier refuses it
		}
	}
	if _, err := next.Ours(); err != nil || !hangs() {
		t.Errorf("looking took the program off: %v", err)
	}
	if d, err := next.Diff(plan, nil); err != nil || len(d) > 0 {
		t.Errorf("without the fast path the plan lacks %v, %v", d, err)
	}
	if hangs() {
		t.Error("the program of the earlier handle is at work")
	}
	next.Recast = nil
	if d, err := next.Diff(plan, nil); err != nil || len(d) > 0 {
		t.Errorf("it was opened again at once: %v, %v", d, err)
	}
	next.fast.again = time.Now()
	if d, err := next.Diff(plan, nil); err != nil || len(d) == 0 {
		t.Errorf("it was not opened again: %v, %v", d, err)
	}
	_, err := next.Apply(plan, r.podNS)
	cell.Must(t, err)
	if d, err := next.Diff(plan, nil); err != nil || len(d) > 0 || !hangs() {
		t.Errorf("it was not hung in: %v, %v", d, err)
	}
}

// TestSwitchedOffWhileOpen: an open fast path that is switched off is not at work.
func TestSwitchedOffWhileOpen(t *testing.T) {
	r, _ := routedPort(t)
	if f, err := r.k.fastAtWork(r.k.listing()); f == nil || err != nil {
		t.Fatalf("the fast path is not at work: %v", err)
	}
	cell.Must(t, r.k.SwitchOffFastPath())
	if f, err := r.k.fastAtWork(r.k.listing()); f != nil || err != nil {
		t.Errorf("it is at work after it was switched off: %v", err)
	}
}

// TestOlderQdisc: a port that an older agent gave a clsact keeps it, with the program.
func TestOlderQdisc(t *testing.T) {
	r, plan := routedPort(t)
	port := plan.Host.Programs[0].Link
	r.sh("tc qdisc del dev " + port + " ingress; tc qdisc add dev " + port + " clsact")
	r.apply(plan)
	if out := r.sh("tc qdisc show dev " + port); !strings.Contains(out, "clsact") {
		t.Errorf("the port has\n%s", out)
	}
	if d, err := r.k.Diff(plan, nil); err != nil || len(d) > 0 {
		t.Errorf("the plan lacks %v, %v", d, err)
	}
}
