package ipvlan

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/parts"
)

// ParentsOn is the value of option plug.
func (Mode) ParentsOn(n heddle.Network) string { return n.Options["plug"] }

// WarmAddresses is the value of option warm.
func (Mode) WarmAddresses(n heddle.Network) int {
	count, _ := strconv.Atoi(n.Options["warm"]) // Check has read it
	return count
}

// maxWarm bounds the addresses that wait for endpoints.
const maxWarm = 256

// checkPlug refuses what does not go with parents that are plugged in.
func (m Mode) checkPlug(h heddle.HostFacts, n heddle.Network) error {
	refuse := func(code heddle.Code, why, remedy string) error {
		return heddle.Errorf(code, "create network", n.Name, why, remedy)
	}
	switch {
	case n.Parent != "":
		return refuse(heddle.BadOption, "its parents are plugged in, and another one is named as well", "leave --parent out, or --opt plug")
	case len(n.Subnets) == 0:
		return refuse(heddle.BadSubnet, "which subnets its parents will be in is not known before one is plugged in", "name the subnets of the provider's network with --subnet")
	case len(n.Gateways) > 0 || len(n.Ranges) > 0:
		return refuse(heddle.BadOption, "who plugs a NIC in says what its addresses and gateways are", "leave --gateway and --ip-range out")
	case n.Internal:
		return refuse(heddle.BadOption, "its containers are on "+lanRules.Network+", and nothing on this host can keep them from it", "leave --internal out")
	case subMode(n) != subL2:
		return parts.BadOption(n, "ipvlan_mode="+subMode(n), "containers on plugged NICs are asked for their addresses themselves", "leave it out, or give l2")
	}
	if warm := n.Options["warm"]; warm != "" {
		if count, err := strconv.Atoi(warm); err != nil || count < 0 || count > maxWarm {
			return parts.BadOption(n, "warm="+heddle.Clip(warm), fmt.Sprintf("it is no number from 0 to %d", maxWarm), "say how many addresses are to wait for endpoints")
		}
	}
	if err := heddle.CheckNetworkName(m.ParentsOn(n)); err != nil {
		return err
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
