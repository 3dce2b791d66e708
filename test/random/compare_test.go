package random_test

import (
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/heddle-network/heddle"
)

// planOf is what the endpoint's mode plans for it.
func (w *world) planOf(e heddle.Endpoint) heddle.Plan {
	n := w.networks[e.NetworkName]
	e.Port = ""
	for _, m := range w.modes {
		if m.Name() == n.Mode {
			p, err := m.Endpoint(facts(), n, e)
			w.must(err)
			return p
		}
	}
	w.t.Fatalf("%s has no mode", e.ID)
	return heddle.Plan{}
}

// compare compares the agent, the host and the model: the same networks and endpoints, on
// the host the union of their plans and nothing else, and an audit that finds nothing but
// what the model knows of.
func (w *world) compare() {
	w.t.Helper()
	if w.lostSome {
		w.jumpFor()
	}
	want := map[string]heddle.Object{}
	inPods := map[string]map[string]heddle.Object{}
	for _, n := range w.life.Networks() {
		if w.networks[n.Name].ID != n.ID {
			w.t.Fatalf("network %s is there", n.Name)
		}
		for _, m := range w.modes {
			if m.Name() == n.Mode {
				p, err := m.Network(facts(), n)
				w.must(err)
				gather(want, p.Host)
			}
		}
	}
	if have := len(w.life.Networks()); have != len(w.networks) {
		w.t.Fatalf("%d networks of %d", have, len(w.networks))
	}
	all := w.life.Endpoints()
	if len(all) != len(w.endpoints) {
		w.t.Fatalf("there are %v, and should be %v", all, w.endpoints)
	}
	defaults := map[string]heddle.EndpointID{}
	for _, e := range all {
		is, known := w.endpoints[e.ID]
		if !known || !slices.Equal(is.Addrs, e.Addrs) || is.MAC != e.MAC || is.Network != e.Network {
			w.t.Fatalf("there is %+v, and should be %+v", e, is)
		}
		p := w.planOf(e)
		if w.lost[e.ID] {
			continue
		}
		gather(want, p.Host)
		if inPods[e.Netns] == nil {
			inPods[e.Netns] = map[string]heddle.Object{}
		}
		gather(inPods[e.Netns], p.Pod)
		if other, two := defaults[e.Netns]; two && e.DefaultRoute {
			w.t.Fatalf("%s and %s have both the default route", e.ID, other)
		}
		if e.DefaultRoute {
			defaults[e.Netns] = e.ID
		}
	}
	for id := range w.lost { // what is left of it on the host is wanted until it is collected
		gather(want, w.left(id))
	}
	w.same("host", want, w.host.Objects())
	for _, p := range w.paths() {
		w.same(p, inPods[p], w.host.PodObjects(p))
	}
	w.audit()
}

func (w *world) audit() {
	w.t.Helper()
	found, err := w.life.Audit()
	w.must(err)
	for _, f := range found {
		id, _ := heddle.ParseEndpointID(f.Owner)
		if f.Kind == "gone" && w.lost[id] || f.Kind == "missing" && len(w.lost) > 0 {
			continue
		}
		w.t.Fatalf("audit: %+v", f)
	}
}

// left is what the host should have of an endpoint whose container has ended: all that
// did not go with its link.
func (w *world) left(id heddle.EndpointID) heddle.State {
	have := w.host.Objects()
	return w.planOf(w.endpoints[id]).Host.Filter(func(o heddle.Object) bool { return have[o.Key()] != nil })
}

func gather(all map[string]heddle.Object, s heddle.State) {
	for _, o := range s.Objects() {
		all[o.Key()] = o
	}
}

// same compares what is somewhere with what is wanted there. Settings outlive who wanted
// them; a loopback is only brought up.
func (w *world) same(where string, want, have map[string]heddle.Object) {
	w.t.Helper()
	for key, o := range want {
		if l, is := o.(heddle.Link); is && l.Kind == "" {
			continue
		}
		if have[key] == nil || !heddle.Same(have[key], o) {
			w.t.Fatalf("%s: %s is not as wanted:\n%s", where, key, cmp.Diff(o, have[key]))
		}
	}
	for key, o := range have {
		if _, setting := o.(heddle.Sysctl); !setting && want[key] == nil {
			w.t.Fatalf("%s: %s is left over", where, key)
		}
	}
}
