package heddle

import "iter"

// State is a set of kernel objects in one network namespace. Objects refer to
// each other by name; what only the kernel knows is resolved by its
// interpreter, package kernel. Each list is that of one of ObjectKinds, in whose order
// they are made.
type State struct {
	Firewall   []Firewall  `json:"firewall,omitempty"`
	Links      []Link      `json:"links,omitempty"`
	NICs       []NIC       `json:"nics,omitempty"`
	Sysctls    []Sysctl    `json:"sysctls,omitempty"`
	Elements   []Element   `json:"elements,omitempty"`
	Buckets    []Bucket    `json:"buckets,omitempty"`
	Diverts    []Divert    `json:"diverts,omitempty"`
	Forwards   []Forward   `json:"forwards,omitempty"`
	Addresses  []Address   `json:"addresses,omitempty"`
	Neighbours []Neighbour `json:"neighbours,omitempty"`
	Routes     []Route     `json:"routes,omitempty"`
	Rules      []Rule      `json:"rules,omitempty"`
	Proxies    []Proxy     `json:"proxies,omitempty"`
	Redirects  []Redirect  `json:"redirects,omitempty"`
	Remotes    []Remote    `json:"remotes,omitempty"`
	Shortcuts  []Shortcut  `json:"shortcuts,omitempty"`
	Programs   []Program   `json:"programs,omitempty"`
}

// all yields the state's objects in the order in which they are made.
func (s State) all() iter.Seq[Object] {
	return func(yield func(Object) bool) {
		for _, k := range ObjectKinds {
			if !k.each(&s, yield) {
				return
			}
		}
	}
}

// count is the number of objects.
func (s State) count() int {
	n := 0
	for _, k := range ObjectKinds {
		n += k.Count(&s)
	}
	return n
}

// Objects lists the state's objects in the order in which they are made.
func (s State) Objects() []Object {
	if s.Empty() {
		return nil
	}
	all := make([]Object, 0, s.count())
	for o := range s.all() {
		all = append(all, o)
	}
	return all
}

// Empty reports whether nothing is wanted.
func (s State) Empty() bool { return s.count() == 0 }

// Filter returns the objects for which keep is true.
func (s State) Filter(keep func(Object) bool) State {
	var kept State
	for _, k := range ObjectKinds {
		k.filter(&s, &kept, keep)
	}
	return kept
}

// Append joins two states without looking for duplicates; see Union.
func Append(s, o State) State {
	for _, k := range ObjectKinds {
		k.join(&s, &o)
	}
	return s
}

// Union adds the objects of o that s does not have; the objects of s come
// first. An object that both want differently is returned as a conflict.
func (s State) Union(o State) (State, []Object) {
	have := s.byKey()
	var conflicts []Object
	more := o.Filter(func(x Object) bool {
		key := x.Key()
		old, known := have[key]
		if known && !Same(old, x) {
			conflicts = append(conflicts, x)
		}
		have[key] = x
		return !known
	})
	return Append(s, more), conflicts
}

// Delta is the difference between two wanted states: add holds the objects of next
// that old lacks or wants differently, gone the objects of old that next does not have.
func Delta(old, next State) (add, gone State) {
	had, has := old.byKey(), next.byKey()
	add = next.Filter(func(o Object) bool {
		before, known := had[o.Key()]
		return !known || !Same(before, o)
	})
	gone = old.Filter(func(o Object) bool { return has[o.Key()] == nil })
	return add, gone
}

func (s State) byKey() map[string]Object {
	all := make(map[string]Object, s.count())
	for o := range s.all() {
		all[o.Key()] = o
	}
	return all
}
