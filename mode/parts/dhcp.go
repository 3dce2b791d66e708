package parts

import (
	"net/netip"

	"github.com/heddle-network/heddle"
)

// Addresses is the option of modes whose containers may get their addresses from the LAN.
var Addresses = heddle.ModeOption{Name: heddle.OptionAddresses, Values: heddle.AddressesDHCP,
	Text: "IPv4 addresses come from the DHCP server of the parent's LAN"}

// LimitDHCP is what the host does not control where a LAN's DHCP server gives the addresses.
const LimitDHCP = "whoever answers DHCP on the LAN says which addresses the containers have, and where their default route leads; without a server nothing can be attached, and a lease that nobody renews ends the address"

// CheckAddresses refuses an unknown source of addresses, and one besides the subnets that the user
// names.
func CheckAddresses(n heddle.Network) error {
	switch v, given := n.Options[heddle.OptionAddresses]; {
	case !given:
		return nil
	case v != heddle.AddressesDHCP:
		return BadOption(n, heddle.OptionAddresses+"="+heddle.Clip(v), "there is no such source of addresses", "give dhcp, or leave it out")
	case len(n.Subnets)+len(n.Ranges)+len(n.Reserved)+len(n.Gateways) > 0:
		return BadOption(n, heddle.OptionAddresses+"="+v, "the network has a subnet of its own, and the LAN's DHCP server says which one its addresses are in",
			"leave --subnet, --ip-range, --gateway and --reserve out, or the option")
	}
	return nil
}

// AddressesBeside are the host's own addresses that are in one subnet with an endpoint's address, by the host's word: a DHCP server
// that names a larger subnet gets no routes on the host by that.
func AddressesBeside(parent heddle.LinkFact, n heddle.Network, e heddle.Endpoint) (all []netip.Addr) {
	if !n.FromDHCP() {
		return AddressesOnLAN(parent, n)
	}
	for _, own := range parent.Addrs {
		for _, a := range e.Addrs {
			if own.Contains(a.Addr()) {
				all = append(all, own.Addr())
			}
		}
	}
	return all
}
