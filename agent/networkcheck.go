package agent

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
	"github.com/heddle-network/heddle/mode/parts"
)

// complete validates a network and fills in what the request leaves out.
func (a *Agent) complete(mode heddle.Mode, n heddle.Network) (heddle.Network, error) {
	if err := heddle.CheckNetworkName(n.Name); err != nil {
		return n, err
	}
	id := make([]byte, 8)
	rand.Read(id)
	n.ID, n.Created, n.Allow, n.Limits = hex.EncodeToString(id), time.Now().UTC(), nil, nil
	n, err := heddle.Bounded(n)
	if err != nil {
		return n, err
	}
	if n, err = a.completeAddresses(mode, n); err != nil {
		return n, err
	}
	if _, giver := mode.(heddle.NICGiver); giver {
		// a NIC keeps its MTU, and its addresses are reserved already
		if err := mode.Check(a.hostWithNICs(), n); err != nil {
			return n, err
		}
		return n, a.checkPlugsOn(mode, n)
	}
	if err := mode.Check(a.host.now(), n); err != nil {
		return n, err
	}
	if err := a.checkPlugsOn(mode, n); err != nil {
		return n, err
	}
	// for a network of several hosts, each host computes its own
	if _, spans := mode.(heddle.Reacher); (len(n.Subnets) > 0 || n.FromDHCP()) && !spans {
		n.MTU = parts.ResolveMTU(a.host.now(), n)
	}
	return reserveParentAddresses(mode, a.host.now(), n)
}

// completeAddresses checks the network's subnets and gateways, and fills in those that are
// missing.
func (a *Agent) completeAddresses(mode heddle.Mode, n heddle.Network) (heddle.Network, error) {
	if _, plugs := heddle.PlugsParents(mode, n); plugs {
		return ipam.CheckOnLAN(n) // the gateways are the NICs'
	}
	guest, ok := mode.(heddle.LANMode)
	if !ok {
		return ipam.Check(n)
	}
	n, err := guest.Complete(a.hostWithNICs(), n)
	if err != nil {
		return n, err
	}
	return ipam.CheckOnLAN(n)
}

// hostAddresses returns the host's own addresses on the LAN of a parent's containers: those
// of the parent, or of all interfaces if several may be in one subnet.
func hostAddresses(mode heddle.Mode, h heddle.HostFacts, parent heddle.LinkFact) (all []netip.Addr) {
	for _, l := range h.Links {
		if l.Name != parent.Name && !hasCommonSubnet(mode) {
			continue
		}
		for _, p := range l.Addrs {
			all = append(all, p.Addr())
		}
	}
	return all
}

// reserveParentAddresses reserves, on a network within its parent's subnet, the
// addresses of the parent and its gateways.
func reserveParentAddresses(mode heddle.Mode, h heddle.HostFacts, n heddle.Network) (heddle.Network, error) {
	parent, ok := h.Link(n.Parent)
	if !ok || !mayShareSubnet(mode) {
		return n, nil
	}
	taken := append(slices.Clone(parent.Gateways), hostAddresses(mode, h, parent)...)
	_, guest := mode.(heddle.LANMode)
	for _, t := range taken {
		switch {
		case slices.Contains(n.Gateways, t) && guest:
		case slices.Contains(n.Gateways, t):
			return n, heddle.Errorf(heddle.AddressTaken, "create network", n.Name,
				"the parent "+parent.Name+" or its router has the address of its gateway "+t.String(),
				"name another gateway with --gateway")
		case !slices.Contains(n.Reserved, t) && slices.ContainsFunc(n.Subnets, func(s netip.Prefix) bool { return s.Contains(t) }):
			n.Reserved = append(n.Reserved, t)
		}
	}
	return n, nil
}

// hasCommonSubnet reports whether the mode's networks may have a subnet in common.
func hasCommonSubnet(mode heddle.Mode) bool {
	s, ok := mode.(heddle.CommonSubnet)
	return ok && s.CommonSubnet()
}

// poolsOverlap reports whether two networks could give out the same address.
func poolsOverlap(a, b heddle.Network) bool {
	for _, p := range poolsOf(a) {
		if slices.ContainsFunc(poolsOf(b), p.Overlaps) {
			return true
		}
	}
	return false
}

// poolsOf returns the prefixes from which addresses are given out: for each family the ranges, or
// the subnet if there are none.
func poolsOf(n heddle.Network) []netip.Prefix {
	all := slices.Clone(n.Ranges)
	for _, s := range n.Subnets {
		if !slices.ContainsFunc(n.Ranges, s.Overlaps) {
			all = append(all, s)
		}
	}
	return all
}

func mayShareSubnet(mode heddle.Mode) bool {
	s, ok := mode.(heddle.ParentSubnet)
	return ok && s.SharesParentSubnet()
}

func (a *Agent) checkSame(old *network, n heddle.Network) (heddle.Network, []string, error) {
	n.ID, n.Created, n.Allow = old.ID, old.Created, old.Allow
	if odd := networkDifferences(old.Network, n); len(odd) > 0 {
		return old.Network, nil, heddle.Errorf(heddle.NetworkExists, "create network", n.Name,
			"a network of that name exists with other settings: "+odd.String(),
			"choose another name, or delete that network first ('heddle network show "+n.Name+"' shows its settings)")
	}
	return old.Network, nil, nil
}

// sameLabels reports whether an object has the labels asked for. A request without labels
// accepts any.
func sameLabels(has, asked map[string]string) bool {
	return len(asked) == 0 || maps.Equal(has, asked)
}

// checkAgainstHost refuses subnets that the host uses. Some modes may take addresses from the
// parent's own subnet, such as that of a cloud's NIC with several addresses.
func (a *Agent) checkAgainstHost(mode heddle.Mode, n heddle.Network) error {
	if a.hostOverlaps(mode, n) == nil {
		return nil
	}
	if err := a.host.refresh(); err != nil { // the facts may still have a network that was removed a moment ago
		return err
	}
	return a.hostOverlaps(mode, n)
}

func (a *Agent) hostOverlaps(mode heddle.Mode, n heddle.Network) error {
	for _, l := range a.host.now().Links {
		if strings.HasPrefix(l.Name, heddle.PrefixTunnel) || strings.HasPrefix(l.Name, heddle.PrefixPort) {
			continue // it is ours: its network was compared before
		}
		for _, s := range n.Subnets {
			for _, addr := range l.Addrs {
				if s.Overlaps(addr.Masked()) && !addr.Addr().IsLinkLocalUnicast() &&
					!((a.usesInterface(mode, n, l) || hasCommonSubnet(mode)) && within(s, addr)) {
					return heddle.Errorf(heddle.SubnetOverlap, "create network", n.Name,
						fmt.Sprintf("its subnet %s overlaps address %s of the host's interface %s", s, addr, l.Name),
						"choose another subnet")
				}
			}
		}
	}
	return nil
}

// checkHostRoutes refuses a network of the cluster with addresses that the host itself reaches
// elsewhere: the network's routes would divert them.
func (a *Agent) checkHostRoutes(n heddle.Network) error {
	own, err := a.kernel.HostRoutes()
	if err != nil {
		return err
	}
	for _, s := range n.Subnets {
		if i := slices.IndexFunc(own, s.Overlaps); i >= 0 {
			return heddle.Errorf(heddle.SubnetOverlap, "create network", n.Name,
				fmt.Sprintf("its subnet %s overlaps the host's own route to %s", s, own[i]),
				"choose another subnet, or take the route away ('ip route show')")
		}
	}
	return nil
}

func within(s, outer netip.Prefix) bool {
	return outer.Contains(s.Addr()) && s.Bits() >= outer.Bits()
}

// conflictsWith refuses a network that cannot be on the host together with another one: they have
// the same name, a common subnet or a parent that they cannot share, or they want one object with
// different settings.
func (n *network) conflictsWith(other *network) error {
	switch {
	case other.ID == n.ID:
		return nil
	case other.Name == n.Name:
		return nameTaken(n.Name)
	case other.Group() == n.Group():
		return heddle.Errorf(heddle.NetworkExists, "create network", n.Name,
			"the random number in its ID collides with that of network "+other.Name, "create the network again")
	}
	for _, s := range n.Subnets {
		for _, t := range other.Subnets {
			if s.Overlaps(t) && !(hasCommonSubnet(n.mode) && hasCommonSubnet(other.mode) &&
				!poolsOverlap(n.Network, other.Network)) {
				return heddle.Errorf(heddle.SubnetOverlap, "create network", n.Name,
					fmt.Sprintf("its subnet %s overlaps %s of network %s", s, t, other.Name), "choose another subnet")
			}
		}
	}
	if n.Parent != "" && n.Parent == other.Parent {
		for _, m := range []heddle.Mode{n.mode, other.mode} {
			if b, ok := m.(heddle.Beside); ok {
				if err := b.Beside(n.Network, other.Network); err != nil {
					return err
				}
			}
		}
	}
	if _, conflicts := other.plan.Host.Union(n.plan.Host); len(conflicts) > 0 {
		return heddle.Errorf(heddle.PlanConflict, "create network", n.Name,
			fmt.Sprintf("network %s wants %s with other settings", other.Name, conflicts[0].Key()),
			"bring the options of both networks in line, or give one of them another parent")
	}
	return nil
}
