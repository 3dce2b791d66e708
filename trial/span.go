package trial

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/mode/parts"
	"github.com/heddle-network/heddle/path"
)

// trySpanning tries a mode whose networks span hosts. Two throw-away hosts on a wire form a
// cluster, and their containers send packets to each other, once over each IP version that the
// kernel has.
func trySpanning(m heddle.Mode, r heddle.Reacher, c Case) error {
	for _, f := range heddle.Families() {
		if tried, err := tryFamily(m, r, c, f); err != nil || !tried {
			return err
		}
	}
	return nil
}

// wires holds the addresses of the two hosts on their wire.
var wires = [2][]string{{"198.51.100.2/24", "2001:db8:1::2/64"}, {"198.51.100.3/24", "2001:db8:1::3/64"}}

// tryFamily tries the mode over one IP version. It returns false without an error if the kernel
// does not have that version.
func tryFamily(m heddle.Mode, r heddle.Reacher, c Case, f heddle.Family) (tried bool, err error) {
	var stages [2]*kernel.Stage
	for i := range stages {
		if stages[i], err = kernel.NewStage(); err != nil {
			return false, err
		}
		defer stages[i].Close()
	}
	if err := stages[0].Connect(stages[1], uplink, wires[0], wires[1]); err != nil {
		return false, err
	}
	var plans [2][]heddle.Plan
	for i, stage := range stages {
		facts, err := stage.Facts()
		if err != nil {
			return false, err
		}
		if f == heddle.IPv6 && !hasIPv6(facts) {
			return false, nil
		}
		if plans[i], err = spanningPlans(m, r, c, facts, i, f); err != nil {
			return false, err
		}
		if err := stage.Make(plans[i]...); err != nil {
			return false, fmt.Errorf("over %s: %w", f, err)
		}
	}
	for _, to := range containerAddrs(c, 1) {
		if err := stages[0].Reaches(stages[1], to.Addr()); err != nil {
			return false, fmt.Errorf("over %s: %w", f, err)
		}
	}
	// the other host has the same objects, and ends with its stage
	return true, stages[0].Strike(plans[0]...)
}

func hasIPv6(h heddle.HostFacts) bool {
	up, _ := h.Link(uplink)
	for _, a := range up.Addrs {
		if a.Addr().Is6() {
			return true
		}
	}
	return false
}

// spanningPlans returns the plans of one of the two hosts.
func spanningPlans(m heddle.Mode, r heddle.Reacher, c Case, facts heddle.HostFacts, i int, f heddle.Family) ([]heddle.Plan, error) {
	s := sampleFor(c)
	facts.Fabric = fabric(c, s.network, i, f)
	n, e := s.network, s.endpoint
	e.ID.Container = fmt.Sprintf("trial%d", i)
	e.Addrs = containerAddrs(c, i)
	if err := m.Check(facts, n); err != nil {
		return nil, err
	}
	if sizer, ok := m.(heddle.Sizer); ok {
		e.MTU = sizer.MTU(facts, n)
	} else {
		e.MTU = parts.ResolveMTU(facts, n)
	}
	network, err := m.Network(facts, n)
	if err != nil {
		return nil, err
	}
	endpoint, err := m.Endpoint(facts, n, e)
	return []heddle.Plan{r.Reach(facts), network, endpoint}, err
}

// containerAddrs returns the addresses of the container on one of the hosts.
func containerAddrs(c Case, i int) []netip.Prefix {
	all := newSample(c, "10.20.0", "fd20:").endpoint.Addrs
	for k, a := range all {
		all[k] = netip.PrefixFrom(inBlock(a.Masked(), i, 1), a.Bits())
	}
	return all
}

// inBlock returns the nth address of a host's block of the subnet.
func inBlock(subnet netip.Prefix, i, n int) netip.Addr {
	a := blockOf(subnet, i).Addr()
	for range n {
		a = a.Next()
	}
	return a
}

// blockOf returns a host's block: the second or the third of the subnet.
func blockOf(subnet netip.Prefix, i int) netip.Prefix {
	b := heddle.BlockOf(subnet, subnet.Addr())
	for range i + 1 {
		b = netip.PrefixFrom(heddle.LastAddr(b).Next(), b.Bits())
	}
	return b
}

// fabric returns the cluster of the two hosts as one of them sees it.
func fabric(c Case, n heddle.Network, self int, over heddle.Family) *heddle.Fabric {
	f := &heddle.Fabric{Cluster: "trial", VNI: heddle.VNIOf("trial"), Port: path.Default().Port(), Networks: []heddle.Network{n}}
	for i := range wires {
		h := heddle.Host{Name: fmt.Sprintf("trial%d", i), ID: fmt.Sprintf("%016x", i+1), MTU: parts.DefaultMTU, PrivilegedPorts: true}
		for _, text := range wires[i] {
			if a := netip.MustParsePrefix(text).Addr(); over.Has(a) {
				h.Underlay = append(h.Underlay, a)
			}
		}
		for _, s := range n.Subnets {
			f.Blocks = append(f.Blocks, heddle.Block{Network: n.ID, Prefix: blockOf(s, i), Host: h.ID})
			if i == self {
				f.Sources = append(f.Sources, heddle.Pin{Network: n.ID, Addr: inBlock(s, i, 2), Host: h.ID})
			}
		}
		if i == self {
			f.Self = h
		} else {
			f.Peers = append(f.Peers, h)
		}
	}
	return f
}
