package kernel

import (
	"fmt"
	"os"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
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

// differ is one call of Diff. Each kind of object is read once as a list,
// however many the plan has, and only if the plan has any.
type differ struct {
	s     *site
	links map[string]linkState
	found []Difference
}

// Diff lists what the kernel does not have as planned. Without a pod the
// container's part is left out.
func (k *Kernel) Diff(p heddle.Plan, pod *Netns) ([]Difference, error) {
	inside, err := podSite(pod)
	if err != nil {
		return nil, err
	}
	defer inside.close()
	p = k.feasible(p)
	host := &differ{s: k.listing()}
	err = host.state(p.Host)
	if err == nil && usesFastPath(p.Host) {
		var f *bpf.Fast
		if f, err = k.fastPath(); err == nil {
			err = refused("compare", "the fast path", host.fastPath(f, p.Host))
		}
	}
	if err != nil || inside == nil {
		return host.found, err
	}
	in := &differ{s: inside}
	err = in.state(p.Pod)
	return append(host.found, in.found...), err
}

func (d *differ) state(p heddle.State) error {
	if err := d.readLinks(p); err != nil {
		return refused("list", "links", err)
	}
	for _, kind := range []struct {
		name    string
		wanted  int
		compare func() error
	}{
		{"firewall", len(p.Firewall), func() error { return d.firewall(p.Firewall) }},
		{"links", len(p.Links), func() error { return each(p.Links, d.link) }},
		{"NICs", len(p.NICs), func() error { return d.nics(p.NICs) }},
		{"sysctls", len(p.Sysctls), func() error { return d.sysctls(p.Sysctls) }},
		{"elements", len(p.Elements), func() error { return d.elements(p.Elements) }},
		{"forwards", len(p.Forwards), func() error { return d.forwards(p.Forwards) }},
		{"addresses", len(p.Addresses), func() error { return d.addresses(p.Addresses) }},
		{"neighbours", len(p.Neighbours), func() error { return d.neighbours(p.Neighbours) }},
		{"routes", len(p.Routes), func() error { return d.routes(p.Routes) }},
		{"rules", len(p.Rules), func() error { return d.rules(p.Rules) }},
		{"redirects", len(p.Redirects), func() error { return d.redirects(p.Redirects) }},
	} {
		if kind.wanted == 0 {
			continue
		}
		if err := kind.compare(); err != nil {
			return refused("list", kind.name, err)
		}
	}
	return nil
}

// readLinks lists the interfaces; all but a firewall refers to them.
func (d *differ) readLinks(p heddle.State) error {
	if len(p.Firewall) == len(p.Objects()) {
		return nil
	}
	d.links = map[string]linkState{}
	live, err := d.s.links()
	for _, l := range live {
		d.links[l.name] = l
		d.s.index[l.name] = l.index
	}
	return err
}

// index is the interface's, or 0, which nothing has, if it is not there.
func (d *differ) index(name string) int { return d.links[name].index }

func (d *differ) missing(o heddle.Object) error {
	d.found = append(d.found, Difference{Key: o.Key(), Kind: "missing"})
	return nil
}

func (d *differ) differs(o heddle.Object, format string, args ...any) error {
	d.found = append(d.found, Difference{Key: o.Key(), Kind: "differs", Detail: fmt.Sprintf(format, args...)})
	return nil
}

func (d *differ) firewall(wanted []heddle.Firewall) error {
	live, err := d.s.tables(wanted)
	if err != nil {
		return err
	}
	for _, x := range compareFirewall(live, wanted) {
		d.found = append(d.found, Difference{Key: x.want.Key(), Kind: x.kind, Detail: x.detail})
	}
	return nil
}

func (d *differ) sysctls(wanted []heddle.Sysctl) error {
	return d.s.ns.Do(func() error {
		folder := d.s.openSettings()
		defer folder.close()
		for _, c := range wanted {
			have, err := folder.read(c.Name)
			switch {
			case os.IsNotExist(err) && folder.moot(c):
			case os.IsNotExist(err):
				d.missing(c)
			case err != nil:
				return err
			case have != words(c.Value):
				d.differs(c, "want %s, have %s", c.Value, have)
			}
		}
		return nil
	})
}

func (d *differ) elements(wanted []heddle.Element) error {
	live := map[string]map[string]heddle.Element{}
	for _, e := range wanted {
		set := e.Family + "/" + e.Set
		if live[set] == nil {
			all, err := d.s.nft.elements(e.Family, e.Set)
			if err != nil {
				return err
			}
			live[set] = map[string]heddle.Element{}
			for _, x := range all {
				live[set][x.Key()] = x
			}
		}
		m, err := newMember(e)
		if err != nil {
			return err
		}
		want := m.canonical()
		have, there := live[set][want.Key()]
		switch {
		case !there:
			d.missing(e)
		case !heddle.Same(have, want):
			d.differs(e, "want %s, have %s", strings.Join(want.Value, " . "), strings.Join(have.Value, " . "))
		}
	}
	return nil
}
