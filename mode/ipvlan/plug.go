package ipvlan

import (
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
// endpoints on it share. The firewall is the network's.
func (m Mode) onPlugged(h heddle.HostFacts, n heddle.Network) (heddle.State, error) {
	shared, err := m.Network(h, n)
	s := shared.Host
	s.Firewall = nil
	s.Links = append([]heddle.Link{{Name: n.Parent}}, s.Links...)
	// the devices on it do without; the host would have a link-local address there, and be reached at it
	s.Sysctls = append(s.Sysctls, heddle.Sysctl{Name: "net/ipv6/conf/" + n.Parent + "/disable_ipv6", Value: "1"})
	return s, err
}
