package fake

import (
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// removal is one call of Remove.
type removal struct {
	k     *Kernel
	keep  func(key string) bool
	sides [2]side // the container's and the host's
	// dying are the links that are deleted; the objects on them are deleted with them. Of these
	// links, far are the far ends.
	dying, far map[end]bool
	err        error
	tripped    bool
}

// end is a link's name on one side.
type end struct {
	pod  bool
	name string
}

// Remove removes the objects of the plan in the reverse order of Apply. An object that is gone
// already counts as removed. Objects for which wanted reports true stay. Settings stay, too, except
// heddle.LoopbackWay, and so do links that are not ours.
func (k *Kernel) Remove(p heddle.Plan, in kernel.Pod, wanted func(key string) bool) error {
	if err := check("remove", p, true); err != nil {
		return err
	}
	inside, err := k.namespaceOf(in)
	if err != nil && !isGone(in) {
		return err
	}
	if wanted == nil {
		wanted = func(string) bool { return false }
	}
	r := &removal{k: k, keep: wanted, dying: map[end]bool{}, far: map[end]bool{}, sides: [2]side{
		{namespace: inside, want: p.Pod, all: p.Pod.Objects(), pod: true},
		{namespace: k.host.own, want: p.Host, all: p.Host.Objects()}}}
	r.findDying(p)
	for phase := heddle.FastPath; phase >= heddle.Frame; phase-- {
		for _, s := range r.sides {
			r.phase(s, phase)
		}
	}
	return r.err
}

func isGone(in kernel.Pod) bool {
	p, is := in.(pod)
	return is && p.gone.Load()
}

func (r *removal) findDying(p heddle.Plan) {
	for _, l := range p.Pod.Links {
		if l.Parent != "" {
			r.dying[end{true, l.Name}] = true
		}
	}
	for _, l := range p.Host.Links {
		if l.Kind == "" || r.keep(l.Key()) {
			continue
		}
		r.dying[end{false, l.Name}] = true
		if l.Peer != "" {
			r.dying[end{l.PeerInPod, l.Peer}], r.far[end{l.PeerInPod, l.Peer}] = true, true
		}
	}
}

func (r *removal) phase(s side, phase heddle.Phase) {
	for _, k := range slices.Backward(heddle.ObjectKinds) {
		if s.namespace == nil || k.Phase != phase || k.Count(&s.want) == 0 {
			continue
		}
		switch k.Name {
		case "firewall":
			r.together(s, "firewall", s.of(k))
		case "elements":
			for some := range slices.Chunk(s.want.Elements, batchSize) {
				r.together(s, batchKey(some), objects(some))
			}
		default:
			for _, o := range slices.Backward(s.of(k)) {
				r.object(s, o)
			}
		}
	}
}

func objects(some []heddle.Element) (all []heddle.Object) {
	for _, e := range some {
		all = append(all, e)
	}
	return all
}

// together removes, in one step, those of the objects that nobody wants.
func (r *removal) together(s side, key string, all []heddle.Object) {
	all = slices.DeleteFunc(slices.Clone(all), func(o heddle.Object) bool { return r.keep(o.Key()) })
	if len(all) == 0 {
		return
	}
	r.do(key, func() error {
		for _, o := range all {
			if !r.keep(o.Key()) { // wanted is asked again
				s.take(o.Key())
			}
		}
		return nil
	})
}

func (r *removal) object(s side, o heddle.Object) {
	switch o := o.(type) {
	case heddle.Link:
		r.link(s, o)
		return
	case heddle.Sysctl:
		if _, way := o.IsLoopbackWay(); !way || s.pod {
			return
		}
	case heddle.NIC:
		r.err = errors.Join(r.err, unknown("bring back NIC", o.Name))
		return
	}
	if r.keep(o.Key()) || r.dying[end{s.pod, standsOn(o)}] {
		return
	}
	r.do(o.Key(), func() error { s.take(o.Key()); return nil })
}

func (r *removal) link(s side, l heddle.Link) {
	if l.Kind == "" || r.keep(l.Key()) || r.far[end{s.pod, l.Name}] {
		return
	}
	r.do(l.Key(), func() error {
		have := s.links[l.Name]
		if have == nil || !have.isOurs() || l.Alias != "" && have.Alias != "" && !heddle.SameOwner(have.Alias, l.Alias) {
			return nil
		}
		s.drop(have)
		return nil
	})
}

// do does one step, unless the tripwire has stopped the work.
func (r *removal) do(key string, do func() error) {
	if r.tripped {
		return
	}
	if err := r.k.trip("remove", key); err != nil {
		r.tripped, r.err = true, errors.Join(r.err, err)
		return
	}
	if err := r.k.do(do); err != nil && !absent(err) {
		r.err = errors.Join(r.err, refused("remove", key, err))
	}
}
