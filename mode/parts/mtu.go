package parts

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// DefaultMTU is used on a host without a suitable interface.
const DefaultMTU = 1500

// ResolveMTU returns the network's MTU in bytes: the requested one, otherwise that of the interface
// that the network uses.
func ResolveMTU(h heddle.HostFacts, n heddle.Network) int {
	if n.MTU != 0 {
		return n.MTU
	}
	if up, ok := h.Uplink(n); ok && up.MTU > 0 {
		return up.MTU
	}
	return DefaultMTU
}

// CheckMTU refuses an MTU that the network's families or its parent cannot
// carry (RFC 791: 576 as every host's minimum; RFC 8200: 1280 for IPv6).
func CheckMTU(h heddle.HostFacts, n heddle.Network) error {
	family := heddle.IPv4
	if n.HasFamily(heddle.IPv6) {
		family = heddle.IPv6
	}
	least := family.LeastMTU()
	if up, ok := h.Uplink(n); ok && up.MTU > 0 && up.MTU < least {
		return heddle.Errorf(heddle.BadMTU, "create network", n.Name,
			fmt.Sprintf("%s needs an MTU of %d bytes, and its parent %s carries %d", family, least, up.Name, up.MTU),
			RaiseMTU("the parent", family))
	}
	if n.MTU != 0 && (n.MTU < least || n.MTU > 65535) {
		return heddle.Errorf(heddle.BadMTU, "create network", n.Name, fmt.Sprintf("its MTU of %d is not from %d to 65535", n.MTU, least),
			"give an MTU in this range, or leave --mtu out to take the parent's")
	}
	if up, ok := h.Uplink(n); ok && up.MTU > 0 && n.MTU > up.MTU {
		return heddle.Errorf(heddle.BadMTU, "create network", n.Name,
			fmt.Sprintf("its MTU of %d is more than its parent %s carries (%d)", n.MTU, up.Name, up.MTU), "leave --mtu out to take the parent's")
	}
	return nil
}

// RaiseMTU is the remedy if an interface has no room for networks of the family.
func RaiseMTU(of string, f heddle.Family) string {
	if f == heddle.IPv6 {
		return "raise " + of + "'s MTU, or leave IPv6 out"
	}
	return "raise " + of + "'s MTU"
}

// CheckParent refuses a parent that the host does not have.
func CheckParent(h heddle.HostFacts, n heddle.Network) error {
	if n.Parent == "" {
		return nil
	}
	if _, ok := h.Link(n.Parent); !ok {
		return heddle.Errorf(heddle.NoParent, "create network", n.Name,
			"the host has no interface "+heddle.Clip(n.Parent), "name an interface that 'ip link' lists")
	}
	return nil
}
