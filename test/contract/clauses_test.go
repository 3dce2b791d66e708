package contract_test

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// twice: what is there is not made again.
func twice(r *room, s scene) {
	for _, p := range []heddle.Plan{s.network, s.endpoint(0)} {
		r.note("steps", r.steps(func() { r.sorted("made", r.apply(p, r.pods[0])) })...)
		r.clean(p, r.pods[0])
		if made := r.apply(p, r.pods[0]); len(made) > 0 {
			r.t.Errorf("made again: %v", made)
		}
	}
	r.sorted("ours", r.ours())
}

// whole: an Apply that fails at any step has made nothing.
func whole(r *room, s scene) {
	for _, p := range []heddle.Plan{s.network, s.endpoint(0)} {
		steps := r.stepsOf(p) // the first time leaves settings of the namespace, which are nobody's
		before, lacks := r.ours(), r.differs(p, r.pods[0])
		for n := range steps {
			r.failing(n, func() error { _, err := r.Apply(p, r.pods[0]); return err })
			if now := r.ours(); !slices.Equal(now, before) {
				r.t.Fatalf("failed at step %d: %v, before %v", n, now, before)
			}
			if now := r.differs(p, r.pods[0]); !slices.Equal(now, lacks) {
				r.t.Fatalf("failed at step %d: lacks\n%v, before\n%v", n, now, lacks)
			}
		}
		r.sorted("lacks", lacks)
		r.apply(p, r.pods[0])
		r.clean(p, r.pods[0])
	}
}

// stepsOf counts the steps that a plan takes, which is taken away again.
func (r *room) stepsOf(p heddle.Plan) int {
	n := 0
	r.tripwire(func(string) error { n++; return nil })
	made := r.apply(p, r.pods[0])
	r.tripwire(nil)
	want := map[string]bool{}
	for _, key := range made {
		want[key] = true
	}
	cell.Must(r.t, r.Remove(p, r.pods[0], func(key string) bool { return !want[key] }))
	return n
}

// removed: a Remove that fails at any step is ended by another one, and leaves what others
// want.
func removed(r *room, s scene) {
	p, shared := s.endpoint(0), has(s.network)
	r.apply(s.network, nil)
	before := r.ours()
	r.apply(p, r.pods[0])
	steps := r.steps(func() { cell.Must(r.t, r.Remove(p, r.pods[0], shared)) })
	r.note("steps", steps...)
	for n := range steps {
		r.apply(p, r.pods[0])
		r.failing(n, func() error { return r.Remove(p, r.pods[0], shared) })
		cell.Must(r.t, r.Remove(p, r.pods[0], shared))
		if now := r.ours(); !slices.Equal(now, before) {
			r.t.Fatalf("failed at step %d: %v, before %v", n, now, before)
		}
	}
	r.clean(s.network, nil)
	cell.Must(r.t, r.Remove(p, r.pods[0], shared))
	r.note("steps", r.steps(func() { cell.Must(r.t, r.Remove(s.network, nil, nil)) })...)
	r.nothing()
}

// shared: what another plan wants stays.
func shared(r *room, s scene) {
	one, two := s.endpoint(0), s.endpoint(1)
	r.apply(s.network, nil)
	r.apply(one, r.pods[0])
	r.apply(two, r.pods[1])
	cell.Must(r.t, r.Remove(one, r.pods[0], func(key string) bool { return has(s.network)(key) || has(two)(key) }))
	r.clean(two, r.pods[1])
	r.clean(s.network, nil)
	r.sorted("left of it", r.differs(one, r.pods[0]))
}

// lost: any object that somebody takes away is missed, and put back.
func lost(r *room, s scene) {
	p := s.endpoint(0)
	r.apply(s.network, nil)
	r.apply(p, r.pods[0])
	for _, o := range p.Host.Objects() {
		if l, is := o.(heddle.Link); is && l.PeerInPod {
			continue // see along
		}
		only := heddle.Plan{Host: p.Host.Filter(func(x heddle.Object) bool { return x.Key() == o.Key() })}
		cell.Must(r.t, r.Remove(only, nil, nil))
		r.note("without "+o.Key(), r.differs(p, r.pods[0])...)
		r.sorted("put back", r.apply(p, r.pods[0]))
		r.clean(p, r.pods[0])
	}
	for _, o := range p.Pod.Objects() {
		only := heddle.Plan{Pod: p.Pod.Filter(func(x heddle.Object) bool { return x.Key() == o.Key() })}
		if _, link := o.(heddle.Link); link {
			continue
		}
		cell.Must(r.t, r.Remove(only, r.pods[0], nil))
		r.note("without "+o.Key(), r.differs(p, r.pods[0])...)
		r.sorted("put back", r.apply(p, r.pods[0]))
		r.clean(p, r.pods[0])
	}
}

// other: what is there with other values is corrected, and put back if the rest fails.
func other(r *room, s scene) {
	was, next := s.endpoint(0), s.changed(s.endpoint(0))
	r.apply(s.network, nil)
	r.apply(was, r.pods[0])
	r.note("differs", r.differs(next, r.pods[0])...)
	refused := next
	refused.Host.Addresses = append(slices.Clone(next.Host.Addresses), heddle.Address{Link: "none", Prefix: s.prefix})
	refused.Pod.Addresses = append(slices.Clone(next.Pod.Addresses), heddle.Address{Link: "none", Prefix: s.prefix})
	_, err := r.Apply(refused, r.pods[0])
	r.note("refused", codeOf(err))
	r.clean(was, r.pods[0])
	r.sorted("made", r.apply(next, r.pods[0]))
	r.clean(next, r.pods[0])
	r.sorted("made", r.apply(was, r.pods[0]))
	r.clean(was, r.pods[0])
}

// along: with a link go its far end, and what lies on both.
func along(r *room, s scene) {
	p := s.endpoint(0)
	r.apply(s.network, nil)
	r.apply(p, r.pods[0])
	link := func(o heddle.Object) bool { l, is := o.(heddle.Link); return is && (l.PeerInPod || l.Parent != "") }
	only := heddle.Plan{Host: p.Host.Filter(link), Pod: p.Pod.Filter(link)}
	cell.Must(r.t, r.Remove(only, r.pods[0], nil))
	r.note("gone", r.differs(p, r.pods[0])...)
	r.apply(p, r.pods[0])
	r.clean(p, r.pods[0])
	cell.Must(r.t, r.Remove(heddle.Plan{Host: s.network.Host.Filter(isLink)}, nil, nil))
	r.note("gone of the network", r.differs(s.network, nil)...)
	r.note("gone of the endpoint", r.differs(p, r.pods[0])...)
}

func isLink(o heddle.Object) bool { _, is := o.(heddle.Link); return is }
