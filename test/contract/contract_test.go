// Package contract_test says what an interpreter of plans does, whoever it is: the same
// suite runs on the kernel, in a cell, and on the one in memory. What both tell on the way
// (steps, what was made, what differs) is compared word by word.
package contract_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/test/cell"
)

// init keeps the process's first thread for the test's main: a goroutine that ends on it
// in another namespace would leave it there for good.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// room is a host with two containers. Its notes are what was seen.
type room struct {
	t testing.TB
	// PlanApplier is what the contract is about.
	agent.PlanApplier
	pods [2]kernel.Pod
	// end ends a container.
	end func(pod int)
	// tripwire and wanted are set for the handle.
	tripwire func(func(step string) error)
	wanted   func(func(key string) int)
	notes    []string
}

// clause is one part of the contract.
type clause struct {
	name string
	test func(*room, scene)
}

var clauses = []clause{
	{"twice", twice}, {"whole", whole}, {"removed", removed}, {"shared", shared}, {"lost", lost}, {"other", other},
	{"along", along}, {"ended", ended}, {"lacking", lacking}, {"misplaced", misplaced}, {"strangers", strangers},
	{"mended", mended}, {"pruned", pruned}, {"kept", kept},
}

// keep runs the contract in new rooms, and returns what was noted in each.
func keep(t *testing.T, open func(t *testing.T) *room) map[string][]string {
	notes := map[string][]string{}
	for _, s := range scenes(t) {
		for _, c := range clauses {
			name := s.name + "/" + c.name
			t.Run(name, func(t *testing.T) {
				r := open(t)
				r.t = t
				c.test(r, s)
				notes[name] = r.notes
			})
		}
	}
	return notes
}

func (r *room) note(what string, all ...string) {
	r.notes = append(r.notes, what+": "+strings.Join(all, "; "))
}

// sorted is note of what is found in no order.
func (r *room) sorted(what string, all []string) {
	all = slices.Clone(all)
	slices.Sort(all)
	r.note(what, all...)
}

func (r *room) apply(p heddle.Plan, pod kernel.Pod) []string {
	r.t.Helper()
	made, err := r.Apply(p, pod)
	cell.Must(r.t, err)
	return made
}

// differs are the keys of what is not as planned, with what is the matter.
func (r *room) differs(p heddle.Plan, pod kernel.Pod) (all []string) {
	r.t.Helper()
	found, err := r.Diff(p, pod)
	cell.Must(r.t, err)
	for _, d := range found {
		all = append(all, d.Key+" "+d.Kind)
	}
	slices.Sort(all)
	return all
}

func (r *room) clean(p heddle.Plan, pod kernel.Pod) {
	r.t.Helper()
	if all := r.differs(p, pod); len(all) > 0 {
		r.t.Fatalf("not as planned: %v", all)
	}
}

func (r *room) ours() []string {
	r.t.Helper()
	o, err := r.Ours()
	cell.Must(r.t, err)
	keys := o.Keys()
	slices.Sort(keys)
	return keys
}

func (r *room) nothing() {
	r.t.Helper()
	if left := r.ours(); len(left) > 0 {
		r.t.Fatalf("left: %v", left)
	}
}

var errInjected = errors.New("injected")

// steps are those that do takes.
func (r *room) steps(do func()) (all []string) {
	r.tripwire(func(step string) error {
		all = append(all, step)
		return nil
	})
	defer r.tripwire(nil)
	do()
	return all
}

// failing has the n-th step fail, the first being 0, and those after it.
func (r *room) failing(n int, do func() error) {
	r.t.Helper()
	r.tripwire(func(string) error {
		if n--; n < 0 {
			return errInjected
		}
		return nil
	})
	defer r.tripwire(nil)
	if err := do(); !errors.Is(err, errInjected) {
		r.t.Fatalf("step %d: %v", n, err)
	}
}

// has reports whether a plan wants an object on the host.
func has(p heddle.Plan) func(key string) bool {
	keys := map[string]bool{}
	for _, o := range p.Host.Objects() {
		keys[o.Key()] = true
	}
	return func(key string) bool { return keys[key] }
}

func codeOf(err error) string {
	var told *heddle.Error
	if !errors.As(err, &told) {
		return fmt.Sprint(err)
	}
	return fmt.Sprint(told.Code)
}
