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
	k *Kernel
	s *session
	// links are all interfaces, and names are their names by index. Both are nil on a host of which few interfaces are
	// wanted: then each is read when it is asked for.
	links map[string]linkState
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

// fewLinks is how many interfaces are read one by one instead of listed with all others. A listing costs much if there are
// thousands of endpoints (linkNames).
const fewLinks = 16

// readLinks lists the interfaces. All kinds but those of the frame refer to them.
func (d *differ) readLinks(want *heddle.State) error {
	refers := func(k heddle.ObjectKind) bool { return k.Phase != heddle.Frame && k.Count(want) > 0 }
	if !slices.ContainsFunc(heddle.ObjectKinds, refers) || !d.s.pod && len(want.Links) <= fewLinks {
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

// find returns the interface of that name; nil if there is none.
func (d *differ) find(name string) (*linkState, error) {
	if d.links == nil {
		return d.s.link(name)
	}
	if l, there := d.links[name]; there {
		return &l, nil
	}
	return nil, nil
}

// index is the index of the interface; 0, which no interface has, if the interface does not exist.
func (d *differ) index(name string) int {
	if d.links == nil {
		index, _ := d.s.ifindex(name)
		return index
	}
	return d.links[name].index
}

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
	if d.links == nil {
		if name, err := d.s.ifname(index); err == nil {
			return name
		}
	}
	return fmt.Sprintf("#%d", index)
}
