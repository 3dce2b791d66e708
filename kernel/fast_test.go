package kernel

import (
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/heddle-network/heddle/mode/routed"
	"github.com/heddle-network/heddle/test/cell"
)

// TestFastPathFails: a handle that cannot open the fast path detaches the programs of the earlier
// handle, whose maps nobody would update any more. It tries again later, and attaches its own
// programs. A handle that only compares detaches nothing.
func TestFastPathFails(t *testing.T) {
	r := newRoom(t)
	r.sh(uplinkScript)
	s := newScenario(t, "routed", routed.Mode{}, nil, 0)
	plan := s.endpoint(0)
	r.apply(s.netPlan)
	r.apply(plan)
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
