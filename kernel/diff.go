package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// Difference is an object that is not as planned.
type Difference struct {
	Key string `json:"key"`
	// Kind is "missing" or "differs".
	Kind string `json:"kind"`
	// Detail says what is wanted and what is there.
	Detail string `json:"detail,omitempty"`
}

func (d Difference) String() string { return strings.TrimSpace(d.Key + " " + d.Kind + " " + d.Detail) }

// differ is one call of Diff for one side.
type differ struct {
	k     *Kernel
	s     *session
	links map[string]linkState
	// names has the names of the links by index.
	names map[int]string
	found []Difference
}

// Diff lists the objects of the plan that the kernel lacks or has differently. Without a pod it
// leaves out the container's part.
func (k *Kernel) Diff(p heddle.Plan, pod Pod) ([]Difference, error) {
	if err := checkScopes("compare", p); err != nil {
		return nil, err
	}
	_, inPod, err := openPod(pod)
	if err != nil {
		return nil, err
	}
	defer inPod.close()
	host := &differ{k: k, s: k.listing()}
	p = k.feasible(host.s, p)
	if err := host.state(&p.Host); err != nil || inPod == nil {
		return host.found, err
	}
	in := &differ{k: k, s: inPod}
	err = in.state(&p.Pod)
	return append(host.found, in.found...), err
}

// state compares each kind of which an object is wanted.
func (d *differ) state(want *heddle.State) error {
	if err := d.readLinks(want); err != nil {
		return refused("list", "links", err)
	}
	for _, k := range heddle.ObjectKinds {
		if k.Count(want) == 0 {
			continue
		}
		if err := kinds[k.Name].compare(d, want); err != nil {
			return refused("list", k.Name, err)
		}
	}
	return nil
}

// readLinks lists the interfaces. All kinds but those of the frame refer to them.
func (d *differ) readLinks(want *heddle.State) error {
	refers := func(k heddle.ObjectKind) bool { return k.Phase != heddle.Frame && k.Count(want) > 0 }
	if !slices.ContainsFunc(heddle.ObjectKinds, refers) {
		return nil
	}
	live, err := d.s.listedLinks()
	d.links, d.names = make(map[string]linkState, len(live)), make(map[int]string, len(live))
	for _, l := range live {
		d.links[l.name], d.names[l.index] = l, l.name
		d.s.index[l.name] = l.index
	}
	return err
}

// index is the index of the interface; 0, which no interface has, if the interface does not exist.
func (d *differ) index(name string) int { return d.links[name].index }

func (d *differ) missing(o heddle.Object) error {
	d.found = append(d.found, Difference{Key: o.Key(), Kind: "missing"})
	return nil
}

func (d *differ) differs(o heddle.Object, format string, args ...any) error {
	d.found = append(d.found, Difference{Key: o.Key(), Kind: "differs", Detail: fmt.Sprintf(format, args...)})
	return nil
}

// nameOf is the name of the interface with that index.
func (d *differ) nameOf(index int) string {
	if index == 0 {
		return ""
	}
	if name, there := d.names[index]; there {
		return name
	}
	return fmt.Sprintf("#%d", index)
}
