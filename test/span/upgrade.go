package span

import (
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/vishvananda/netlink"
)

// Upgrade gives the host a new kernel handle, as a restarted agent has one, whose fast-path programs
// are loaded again. It then applies all wanted state.
func (c *Cluster) Upgrade(t testing.TB, host int, recast func(*ebpf.CollectionSpec)) {
	t.Helper()
	h := c.Hosts[host]
	err := h.Do(func() error {
		fresh, err := kernel.Open()
		if err != nil {
			return err
		}
		h.kernel.Close()
		h.kernel = fresh
		h.kernel.Recast = recast
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Plan(t)
	for _, p := range h.pods {
		h.Apply(t, p, nil)
	}
}

// ThirdHost tells both hosts about a third one, which has a block of each network that is made from
// now on. Its underlay addresses are free: a test that takes them can send as that host.
func (c *Cluster) ThirdHost() heddle.Host {
	third := heddle.Host{Name: "third", ID: "id of third", MTU: UnderlayMTU, Underlay: []netip.Addr{netip.MustParseAddr("2001:db8::77")}}
	if c.Hosts[0].Outer().Is4() {
		third.Underlay = append([]netip.Addr{netip.MustParseAddr("192.0.2.77")}, third.Underlay...)
	}
	for _, h := range c.Hosts {
		h.facts.Fabric.Peers = append(h.facts.Fabric.Peers, third)
	}
	c.third = &third
	return third
}

// Programs returns the fast-path programs that are attached to a host's interfaces.
func (c *Cluster) Programs(t testing.TB, host int) (all []ebpf.ProgramID) {
	t.Helper()
	err := c.Hosts[host].Do(func() error {
		links, err := netlink.LinkList()
		for _, l := range links {
			filters, _ := netlink.FilterList(l, netlink.HANDLE_MIN_INGRESS) // none without a qdisc
			for _, f := range filters {
				if b, ok := f.(*netlink.BpfFilter); ok {
					all = append(all, ebpf.ProgramID(b.Id))
				}
			}
			q, err := link.QueryPrograms(link.QueryOptions{Target: l.Attrs().Index, Attach: ebpf.AttachTCXIngress})
			if err != nil {
				continue // before Linux 6.6
			}
			for _, p := range q.Programs {
				all = append(all, p.ID)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
