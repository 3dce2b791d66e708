package ipvlan

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/parts"
)

// RoutesOnParents is false: the containers are on the NICs' network themselves.
func (Mode) RoutesOnParents() bool { return false }

// checkPlug refuses what does not go with parents that are plugged in.
func (m Mode) checkPlug(h heddle.HostFacts, n heddle.Network) error {
	switch {
	case n.Internal:
		return heddle.Errorf(heddle.BadOption, "create network", n.Name, "its containers are on "+lanRules.Network+", and nothing on this host can keep them from it", "leave --internal out")
	case subMode(n) != subL2:
		return parts.BadOption(n, "ipvlan_mode="+subMode(n), "containers on plugged NICs are asked for their addresses themselves", "leave it out, or give l2")
	}
	if err := checkServices(h, n); err != nil {
		return err
	}
	return parts.CheckMTU(h, n)
}

// onPlugged is what the host has for endpoints on a parent that was plugged in: the parent, up and without addresses of its own, and what the
// endpoints on it share. The firewall is the network's. What the NIC must not lead to is kept from the containers by the host, too, for they can change
// their own routes: what they send there is taken off the parent, and goes nowhere.
func (m Mode) onPlugged(h heddle.HostFacts, n heddle.Network, on heddle.ParentNIC) (heddle.State, error) {
	shared, err := m.Network(h, n)
	s := shared.Host
	s.Firewall = nil
	s.Links = append([]heddle.Link{{Name: n.Parent}}, s.Links...)
	// the devices on it do without; the host would have a link-local address there, and be reached at it
	s.Sysctls = append(s.Sysctls, heddle.Sysctl{Name: "net/ipv6/conf/" + n.Parent + "/disable_ipv6", Value: "1"})
	parent, _ := h.Link(n.Parent)
	slave := heddle.Slave(parent, subMode(n)).Name
	for _, p := range on.Closed {
		s = nowhere(s, n.Parent, p) // what is sent to the parent's own MAC address arrives there
		if !slices.ContainsFunc(s.Redirects, func(r heddle.Redirect) bool { return r.Prefix == p }) {
			s = caught(s, n, slave, p)
		}
	}
	return s, err
}
