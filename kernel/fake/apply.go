package fake

import (
	"errors"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// attempt is one call of Apply or Mend.
type attempt struct {
	k     *Kernel
	plan  heddle.Plan
	sides [2]side // the host's and the container's
	made  []string
	noted map[string]bool
	undo  []func()
	fresh map[*link]bool
	// lenient lets the work go on after a refused object; failed collects the refusals.
	lenient bool
	failed  []error
}

// side is a namespace with what is wanted there; space is nil if there is none.
type side struct {
	*namespace
	want heddle.State
	pod  bool
	all  []heddle.Object
}

// Apply makes what is missing of the plan and corrects what is ours and different, all or
// nothing.
func (k *Kernel) Apply(p heddle.Plan, in kernel.Pod) (made []string, err error) {
	inside, err := k.namespaceOf(in)
	if err != nil {
		return nil, err
	}
	if err := check("apply", p, inside != nil); err != nil {
		return nil, err
	}
	a := k.attempt(p, inside)
	if err := a.run(); err != nil {
		return nil, a.rollback(err)
	}
	return a.made, nil
}

// Mend makes what it can of a host's part, and reverts nothing.
func (k *Kernel) Mend(want heddle.State) (made []string, err error) {
	p := heddle.Plan{Host: want}
	if err := check("apply", p, false); err != nil {
		return nil, err
	}
	a := k.attempt(p, nil)
	a.lenient = true
	err = a.run()
	return a.made, errors.Join(append(a.failed, err)...)
}

func (k *Kernel) attempt(p heddle.Plan, inside *namespace) *attempt {
	return &attempt{k: k, plan: p, noted: map[string]bool{}, fresh: map[*link]bool{}, sides: [2]side{
		{namespace: k.host.own, want: p.Host, all: p.Host.Objects()},
		{namespace: inside, want: p.Pod, all: p.Pod.Objects(), pod: true}}}
}

// check refuses impossible plans before anything is changed.
func check(verb string, p heddle.Plan, inside bool) error {
	if verb == "apply" && !inside && !p.Pod.Empty() {
		return heddle.Errorf(heddle.BadNamespace, verb, "the container's part of a plan", "no network namespace is given", "give one")
	}
	if wrong := p.Misplaced(); wrong != nil {
		return heddle.Errorf(heddle.KernelRefused, verb, strings.Join(wrong, ", "),
			"firewall and programs can only be on the host, and NICs only in a container", "correct the plan")
	}
	tunnel := func(l heddle.Link) bool { return l.Kind == "vxlan" && l.Tunnel == nil }
	if verb == "apply" && (slices.ContainsFunc(p.Host.Links, tunnel) || slices.ContainsFunc(p.Pod.Links, tunnel)) {
		return heddle.Errorf(heddle.KernelRefused, verb, "a VXLAN device", "the plan has no tunnel settings for it", "correct the plan")
	}
	return nil
}

// of returns the objects of one kind.
func (s side) of(kind heddle.ObjectKind) []heddle.Object {
	from := 0
	for _, k := range heddle.ObjectKinds {
		n := k.Count(&s.want)
		if k.Name == kind.Name {
			return s.all[from : from+n]
		}
		from += n
	}
	return nil
}

// run makes the phases, and brings interfaces up between the guards and layer 3.
func (a *attempt) run() error {
	for phase := heddle.Frame; phase <= heddle.FastPath; phase++ {
		if phase == heddle.Layer3 {
			for _, s := range []side{a.sides[1], a.sides[0]} {
				for _, l := range s.want.Links {
					if err := a.raise(s, l); err != nil {
						return err
					}
				}
			}
		}
		for _, s := range a.sides {
			if err := a.phase(s, phase); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *attempt) phase(s side, phase heddle.Phase) error {
	for _, k := range heddle.ObjectKinds {
		if k.Phase != phase || k.Count(&s.want) == 0 {
			continue
		}
		if err := a.kind(s, k); err != nil {
			return err
		}
	}
	return nil
}

// kind makes the objects of one kind. Each object is one step; objects that nft takes in
// one transaction are one step together.
func (a *attempt) kind(s side, k heddle.ObjectKind) error {
	switch k.Name {
	case "firewall":
		return a.step("make", "firewall", func() error { return a.frame(s) })
	case "elements":
		return a.elements(s)
	case "links":
		for _, l := range s.want.Links {
			if err := a.link(s, l); err != nil {
				return err
			}
		}
		return nil
	case "nics":
		return unknown("move NIC", s.want.NICs[0].Name)
	}
	for _, o := range s.of(k) {
		key := o.Key()
		if err := a.step("make", key, func() error { return a.object(s, key, o) }); err != nil {
			return err
		}
	}
	return nil
}

// step does one thing that may change the host.
func (a *attempt) step(verb, key string, do func() error) error {
	if err := a.k.trip(verb, key); err != nil {
		return err
	}
	err := refused(verb, key, a.k.do(do))
	if err != nil && a.lenient && key != "firewall" {
		a.failed, err = append(a.failed, err), nil
	}
	return err
}

// recordUndo records that an object was made or changed, and how to revert it.
func (a *attempt) recordUndo(key string, back func()) {
	if !a.noted[key] {
		a.noted[key] = true
		a.made = append(a.made, key)
	}
	a.undo = append(a.undo, back)
}

// recordCreated is recordUndo for a new object. The undo removes the object, unless another plan
// wants it by then.
func (a *attempt) recordCreated(s side, key string, remove func()) {
	a.recordUndo(key, func() {
		if s.pod || !a.k.shared(key) {
			remove()
		}
	})
}

// rollback reverts the changes in reverse order.
func (a *attempt) rollback(cause error) error {
	return a.k.do(func() error {
		for _, back := range slices.Backward(a.undo) {
			back()
		}
		return cause
	})
}
