package fake

import (
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// object makes one object that is neither a link nor in the firewall, or replaces one of ours.
func (a *attempt) object(s side, key string, o heddle.Object) error {
	if err := s.missingDependency(o); err != nil {
		return err
	}
	old := s.before(key, o)
	if old != nil && s.same(old, o) {
		return nil
	}
	if old != nil {
		s.take(old.Key())
	}
	s.put(key, o)
	_, setting := o.(heddle.Sysctl)
	switch {
	case old != nil:
		a.recordUndo(key, func() { s.take(key); s.put(old.Key(), old) })
	case setting:
		a.recordUndo(key, func() { s.take(key) })
	default:
		a.recordCreated(s, key, func() { s.take(key) })
	}
	return nil
}

// before is the object that another one replaces. An IPv6 address exists once, whatever its prefix;
// a route has one next hop for each metric.
func (s *namespace) before(key string, o heddle.Object) heddle.Object {
	if old := s.objects[key]; old != nil {
		return old
	}
	switch o := o.(type) {
	case heddle.Address:
		if o.Prefix.Addr().Is4() {
			return nil
		}
		for key := range s.on[o.Link] {
			if old, is := s.objects[key].(heddle.Address); is && old.Prefix.Addr() == o.Prefix.Addr() {
				return old
			}
		}
	case heddle.Route:
		for _, old := range s.objects {
			if old, is := old.(heddle.Route); is && old.Dst == o.Dst && old.Metric == o.Metric && old.Table == o.Table {
				return old
			}
		}
	}
	return nil
}

// same reports whether an existing object is as wanted. Of an address only the prefix matters.
func (s *namespace) same(have, want heddle.Object) bool {
	switch want := want.(type) {
	case heddle.Address:
		return have.(heddle.Address).Prefix == want.Prefix
	case heddle.Firewall:
		have := have.(heddle.Firewall)
		return have.Spec == want.Spec && slices.Equal(have.Rules, want.Rules)
	case heddle.Element:
		return slices.Equal(have.(heddle.Element).Value, want.Value)
	case heddle.Redirect:
		have := have.(heddle.Redirect)
		return have.To == want.To && (want.By == "" || have.By == want.By)
	}
	return heddle.Same(have, want)
}

// frame makes the static part of the firewall. A chain that somebody has changed stays
// repaired.
func (a *attempt) frame(s side) error {
	table := func(family string) string { return heddle.Firewall{Family: family, Kind: "table"}.Key() }
	tables := map[string]bool{}
	for _, f := range s.want.Firewall {
		tables[table(f.Family)] = tables[table(f.Family)] || f.Kind == "table"
	}
	for key, made := range tables {
		if !made && s.objects[key] == nil {
			return fmt.Errorf("%s: %w", key, unix.ENOENT)
		}
	}
	for _, f := range s.want.Firewall {
		key := f.Key()
		old := s.objects[key]
		if old != nil && s.same(old, f) {
			continue
		}
		s.put(key, f)
		if old == nil {
			a.recordCreated(s, key, func() { s.take(key) })
		} else {
			a.recordUndo(key, func() {})
		}
	}
	return nil
}

// batchSize is how many elements there are in one transaction.
const batchSize = 256

// elements adds members of sets, a batch in each step.
func (a *attempt) elements(s side) error {
	for all := s.want.Elements; len(all) > 0; {
		some := all[:min(len(all), batchSize)]
		all = all[len(some):]
		err := a.step("make", batchKey(some), func() error { return a.members(s, some) })
		if err != nil {
			return err
		}
	}
	return nil
}

// members adds some members in one step. If a refused member must not stop the others, it
// adds each one separately.
func (a *attempt) members(s side, some []heddle.Element) error {
	for _, e := range some {
		err := s.missingDependency(e)
		if err != nil && !a.lenient {
			return fmt.Errorf("%s: %w", e.Key(), err)
		}
		if err != nil {
			a.failed = append(a.failed, refused("make", e.Key(), err))
		}
	}
	for _, e := range some {
		if s.missingDependency(e) == nil {
			_ = a.object(s, e.Key(), e)
		}
	}
	return nil
}

// batchKey names a batch in steps and errors.
func batchKey(some []heddle.Element) string {
	if len(some) == 1 {
		return some[0].Key()
	}
	return fmt.Sprintf("%s and %d more", some[0].Key(), len(some)-1)
}
