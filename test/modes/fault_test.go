package modes_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

var errFault = errors.New("a fault made by the test")

// fault is an operation that is made to fail at each of its steps in turn.
type fault struct {
	name string
	// do is the operation, undo its opposite.
	do, undo func(s *stage) error
	// start brings the stage to where do can begin.
	start func(t *testing.T, s *stage)
	// mayFinish says that a failure may leave less than before instead of the
	// same: a detach goes on when it is called again.
	mayFinish bool
}

// stage is what the operations work on.
type stage struct {
	w    *world.World
	net  heddle.Network
	pod  world.Netns
	want heddle.AttachRequest
}

func (s *stage) create() error {
	_, _, err := s.w.CreateNetwork(s.net, false)
	return err
}

func (s *stage) delete() error { return s.w.DeleteNetwork(s.net.Name) }

func (s *stage) attach() error {
	_, err := s.w.Attach(ctx, s.want)
	return err
}

func (s *stage) detach() error {
	_, err := s.w.Detach(ctx, s.want.ID)
	return err
}

func (s *stage) assign() error {
	_, err := s.w.Agent.Assign(ctx, s.want.ID, 2)
	return err
}

func (s *stage) unassign() error {
	e, err := s.w.Agent.Endpoint(s.want.ID)
	for _, f := range e.Further {
		if err == nil {
			_, err = s.w.Agent.Unassign(ctx, s.want.ID, f.Addrs[0].Addr())
		}
	}
	return err
}

func nothing(*testing.T, *stage) {}

func faults() []fault {
	create := func(t *testing.T, s *stage) { cell.Must(t, s.create()) }
	attach := func(t *testing.T, s *stage) {
		create(t, s)
		cell.Must(t, s.attach())
	}
	return []fault{
		{"network create", (*stage).create, (*stage).delete, nothing, false},
		{"network delete", (*stage).delete, (*stage).create, create, true},
		{"attach", (*stage).attach, (*stage).detach, create, false},
		{"detach", (*stage).detach, (*stage).attach, attach, true},
	}
}

// TestFaultAtEveryStep: an operation that fails at a step leaves everything as
// it was, or can be called again; no address is lost.
func TestFaultAtEveryStep(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		for _, f := range faults() {
			t.Run(f.name, func(t *testing.T) {
				faultAtEveryStep(t, mode, f, world.Publish("8080:80/tcp"), world.Publish("127.0.0.1@5353:53/udp"))
			})
		}
	})
}

// TestTAPFaultAtEveryStep is TestFaultAtEveryStep for a virtual machine's port.
func TestTAPFaultAtEveryStep(t *testing.T) {
	attached := func(t *testing.T, s *stage) {
		cell.Must(t, s.create())
		cell.Must(t, s.attach())
	}
	for _, f := range append(faults()[2:], fault{"assign", (*stage).assign, (*stage).unassign, attached, false}) {
		t.Run(f.name, func(t *testing.T) { faultAtEveryStep(t, "bridge", f, world.TAP) })
	}
}

// TestAssignFaultGivesBack: addresses that an endpoint did not get are others'.
func TestAssignFaultGivesBack(t *testing.T) {
	w := world.New(t)
	n := w.Plan("net", "bridge", func(n *heddle.Network) { n.Subnets[0] = netip.MustParsePrefix("10.20.0.0/29") })
	s := &stage{w: w, net: n, want: w.Request(world.Netns{Name: "machine"}, "net", world.TAP)}
	cell.Must(t, s.create())
	cell.Must(t, s.attach())
	if name, _, err := s.failAt(1, (*stage).assign); name != "ledger ports" || !errors.Is(err, errFault) {
		t.Fatalf("at step %q: %v", name, err)
	}
	for i := range 4 {
		w.Pod(t, fmt.Sprint("other", i), "net")
	}
	cell.Must(t, s.detach())
	w.AuditEmpty(t)
}

func faultAtEveryStep(t *testing.T, mode string, f fault, options ...world.PodOption) {
	w := world.New(t)
	pod := world.NewNetns(t, "pod")
	tiny := func(n *heddle.Network) { n.Subnets[0] = netip.MustParsePrefix("10.20.0.0/29") }
	s := &stage{w: w, net: w.Plan("net", mode, tiny), pod: pod,
		want: w.Request(pod, "net", options...)}
	f.start(t, s)
	// once to and fro: what settings outlive their plan is set from now on
	cell.Must(t, f.do(s))
	cell.Must(t, f.undo(s))
	for at := soak.Next(t, 0); ; at = soak.Next(t, at) {
		before := s.dump(t)
		name, steps, err := s.failAt(at, f.do)
		if name == "" {
			cell.Must(t, err)
			if t.Logf("%d steps", steps); steps < 3 {
				t.Errorf("%d steps: the agent does not count them", steps)
			}
			cell.Must(t, f.undo(s))
			break
		}
		where := fmt.Sprintf("failed at step %d (%s)", at, name)
		if !errors.Is(err, errFault) {
			t.Errorf("%s, the error is %v", where, err)
		}
		if f.mayFinish {
			s.goOn(t, f, where)
		} else {
			same(t, where, before, s.dump(t))
			w.AuditEmpty(t)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	s.fill(t)
	w.AuditEmpty(t)
}

// failAt lets the operation fail at a step, and names the step; empty if there
// are not so many. It returns how many it came to.
func (s *stage) failAt(at int, do func(*stage) error) (name string, steps int, err error) {
	s.w.TripAt(func(step string) error {
		if steps++; steps == at {
			name = step
			return fmt.Errorf("at %s: %w", step, errFault)
		}
		return nil
	})
	err = do(s)
	s.w.TripAt(nil)
	return name, steps, err
}

// goOn calls a removal again after its failure, which must then end it, and
// makes again what was removed.
func (s *stage) goOn(t *testing.T, f fault, where string) {
	t.Helper()
	if err := f.do(s); err != nil {
		t.Errorf("%s, called again: %v", where, err)
	}
	s.w.AuditEmpty(t)
	if err := f.undo(s); err != nil {
		t.Errorf("%s, called again and undone: %v", where, err)
	}
	s.w.AuditEmpty(t)
}

func (s *stage) dump(t *testing.T) string { return s.w.Host.Dump(t) + s.pod.Dump(t) }

// fill attaches as many endpoints as the network has addresses for: none was
// lost.
func (s *stage) fill(t *testing.T) {
	t.Helper()
	if _, err := s.w.Agent.Network("net"); err != nil {
		cell.Must(t, s.create())
	}
	s.detach()
	for i := range 5 {
		s.w.Pod(t, fmt.Sprint("fill", i), "net")
	}
}
