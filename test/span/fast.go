package span

import (
	"fmt"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/overlay"
)

// FastPath detaches the programs of the host's fast path from their interfaces, or attaches them
// again. Their maps stay.
func (h *Host) FastPath(t testing.TB, on bool) {
	t.Helper()
	p := heddle.Plan{}
	for _, x := range h.programs {
		p.Host.Programs = append(p.Host.Programs, x)
	}
	if on {
		h.Apply(t, p, nil)
		return
	}
	err := h.Do(func() error { return h.kernel.Remove(p, nil, nil) })
	if err != nil {
		t.Errorf("%s: %v", h.Name, err)
	}
}

// Carried returns the counters of the host's fast path.
func (h *Host) Carried(t testing.TB) heddle.FastCounts {
	t.Helper()
	c, err := h.kernel.FastTotals()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// NarrowPath tells both hosts that the path between them has that MTU.
func (c *Cluster) NarrowPath(t testing.TB, mtu int) {
	t.Helper()
	for i, h := range c.Hosts {
		h.facts.Fabric.PathMTU = map[string]int{c.Hosts[1-i].Record.ID: mtu}
	}
	c.Plan(t)
}

// Differs lists what the hosts do not have as their plans want it.
func (c *Cluster) Differs(t testing.TB) (all []string) {
	t.Helper()
	for i, h := range c.Hosts {
		want := c.wanted(t, i)
		for _, p := range h.pods {
			want = heddle.Append(want, p.Host)
		}
		err := h.Do(func() error {
			found, err := h.kernel.Diff(heddle.Plan{Host: want}, nil)
			for _, d := range found {
				all = append(all, fmt.Sprintf("%s: %+v", h.Name, d))
			}
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
	}
	return all
}

// Refuses is the error with which mode overlay refuses a network on the first host.
func (c *Cluster) Refuses(n heddle.Network) error {
	return overlay.Mode{}.Check(c.Hosts[0].facts, n)
}

// Heed makes both hosts read their IPsec policies, as their agents do, and plan again.
func (c *Cluster) Heed(t testing.TB) {
	t.Helper()
	old := [2]heddle.State{c.wanted(t, 0), c.wanted(t, 1)}
	for _, h := range c.Hosts {
		facts, err := h.kernel.Facts()
		if err != nil {
			t.Fatal(err)
		}
		h.facts.Secured = facts.Secured
	}
	c.Plan(t)
	for i, h := range c.Hosts {
		_, gone := heddle.Delta(old[i], c.wanted(t, i))
		if err := h.Do(func() error { return h.kernel.Remove(heddle.Plan{Host: gone}, nil, nil) }); err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
	}
}

// wanted returns the state that a host's plans want, without its containers.
func (c *Cluster) wanted(t testing.TB, host int) heddle.State {
	t.Helper()
	h := c.Hosts[host]
	all := overlay.Mode{}.Reach(h.facts).Host
	for _, n := range c.networks {
		p, err := overlay.Mode{}.Network(h.facts, n)
		if err != nil {
			t.Fatal(err)
		}
		all, _ = all.Union(p.Host)
	}
	return all
}
