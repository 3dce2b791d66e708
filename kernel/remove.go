package kernel

import (
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
)

// removal is one call of Remove.
type removal struct {
	k         *Kernel
	host, pod *session
	keep      func(key string) bool
	// dying holds the links, by side and name, that this call deletes. The objects on them are
	// deleted with them.
	dying map[string]bool
	// far holds those of the dying links that are far ends, which need no request.
	far map[string]bool
	err error
	// tripped says that the tripwire stopped the work.
	tripped bool
}

// Remove removes the objects of the plan in the reverse order of Apply. An object that is gone
// already counts as removed; pod is nil if the container's namespace is gone. Objects for which
// wanted reports true stay, because other plans name them. Settings stay, too, except
// heddle.LoopbackWay, and so do links that are not ours. A refusal does not stop the removal of the
// rest; all refusals are returned.
func (k *Kernel) Remove(p heddle.Plan, pod Pod, wanted func(key string) bool) error {
	if err := checkScopes("remove", p); err != nil {
		return err
	}
	_, inPod, err := openPod(pod)
	if err != nil {
		return err
	}
	defer inPod.close()
	if wanted == nil {
		wanted = func(string) bool { return false }
	}
	r := &removal{k: k, host: k.hostSession(), pod: inPod, keep: wanted, dying: map[string]bool{}, far: map[string]bool{}}
	p = k.feasible(k.listing(), p)
	r.findDying(p)
	for phase := heddle.FastPath; phase >= heddle.Frame; phase-- {
		r.remove(r.pod, &p.Pod, phase)
		r.remove(r.host, &p.Host, phase)
	}
	return r.err
}

// remove removes the objects of one phase, the last first.
func (r *removal) remove(s *session, gone *heddle.State, phase heddle.Phase) {
	for _, k := range slices.Backward(heddle.ObjectKinds) {
		if k.Phase == phase && k.Count(gone) > 0 {
			kinds[k.Name].remove(r, s, gone)
		}
	}
}

// findDying records the near ends that are deleted, and the far ends that are deleted with them.
func (r *removal) findDying(p heddle.Plan) {
	for _, l := range p.Pod.Links {
		if l.Parent != "" {
			r.dying["pod/"+l.Name] = true
		}
	}
	for _, n := range p.Pod.NICs {
		r.dying["pod/"+n.IfName] = true // it leaves, and loses the objects on it
	}
	for _, l := range p.Host.Links {
		if l.Kind == "" || r.keep(l.Key()) {
			continue
		}
		r.dying["host/"+l.Name] = true
		if l.Peer != "" && l.PeerInPod {
			r.dying["pod/"+l.Peer], r.far["pod/"+l.Peer] = true, true
		} else if l.Peer != "" && l.PeerNetns == "" { // in another namespace it may have the same name
			r.dying["host/"+l.Peer], r.far["host/"+l.Peer] = true, true
		}
	}
}

// step removes one object unless it is wanted, goes with its link, or the
// tripwire has stopped the work.
func (r *removal) step(s *session, key, link string, do func() error) {
	if s == nil || r.tripped || r.keep(key) || link != "" && r.dying[s.side()+link] {
		return
	}
	r.do(key, do)
}

func (r *removal) do(key string, do func() error) {
	if err := r.k.trip("remove", key); err != nil {
		r.tripped = true
		r.err = errors.Join(r.err, err)
		return
	}
	if err := do(); err != nil && !absent(err) {
		r.err = errors.Join(r.err, refused("remove", key, err))
	}
}
