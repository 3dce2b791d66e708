package span

import (
	"testing"

	"github.com/heddle-network/heddle"
)

// FastPath takes the programs of the host's fast path off their interfaces, or puts
// them back; what they know stays.
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

// Carried counts what the host's fast path has carried, and what it has left.
func (h *Host) Carried(t testing.TB) heddle.FastCounts {
	t.Helper()
	c, err := h.kernel.FastTotals()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// NarrowPath says that the path between the hosts carries no more than mtu bytes.
func (c *Cluster) NarrowPath(t testing.TB, mtu int) {
	t.Helper()
	for i, h := range c.Hosts {
		h.facts.Fabric.PathMTU = map[string]int{c.Hosts[1-i].Record.ID: mtu}
	}
	c.Plan(t)
}
