// Package havip is high-availability virtual IP addresses (HAVIP): addresses of a network that several endpoints, its members, may have,
// and one at a time holds. A member takes an address over by announcing it, as keepalived does: by a gratuitous ARP (RFC 5227, section 3) or
// an unsolicited neighbour advertisement (RFC 4861, 7.2.6). The package has the noun with its checks, and what the host has to
// have for it. It only computes.
package havip

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/policy"
)

// HAVIP is one such address.
type HAVIP struct {
	Name string `json:"name"`
	// Network is the network's ID, NetworkName its name. In a request either may be in Network.
	Network     string `json:"network"`
	NetworkName string `json:"networkName,omitempty"`
	// Address is one of the network's. In a request it may be left out, for a free one.
	Address netip.Addr `json:"address,omitzero"`
	// Members selects the endpoints of the network that may hold it, by labels and names.
	Members policy.Selector `json:"members"`
	// Ports are ports of the host that lead to whoever holds it.
	Ports   []heddle.PortMapping `json:"ports,omitempty"`
	Created time.Time            `json:"created,omitzero"`
}

// Shown is an address with its members of now, and who holds it.
type Shown struct {
	HAVIP
	Endpoints []heddle.EndpointID `json:"endpoints"`
	Holder    *heddle.EndpointID  `json:"holder,omitempty"`
}

// MaxHAVIPs is how many one host can have.
const MaxHAVIPs = 256

// Check refuses an address that says what none can say.
func (h HAVIP) Check() error {
	const op = "create HAVIP"
	if heddle.CheckNetworkName(h.Name) != nil {
		return heddle.Errorf(heddle.BadName, op, heddle.Clip(h.Name), "this is no name", "use letters, digits, '_', '.', '-', at most 64 bytes, starting with a letter or digit")
	}
	if len(h.Members.Networks) > 0 {
		return heddle.Errorf(heddle.BadArgument, op, h.Name, "members.networks: the members are on the network of the address", "select members by labels and names")
	}
	return h.Members.Check(op, h.Name)
}

// Same reports whether another one says the same.
func (h HAVIP) Same(other HAVIP) bool {
	return h.Network == other.Network && h.Address == other.Address && h.Members.String() == other.Members.String() && slices.Equal(h.Ports, other.Ports)
}

// HolderID is under which ID the address is leased, and its ports are published. No endpoint can have it: it is no container's.
func (h HAVIP) HolderID() heddle.EndpointID {
	return heddle.EndpointID{Container: "HAVIP " + h.Name, IfName: "any"}
}

// Member is an endpoint that may hold addresses.
type Member struct {
	policy.Member
	// NetworkID is the ID of its network.
	NetworkID string
	MAC       heddle.MAC
}

// Has reports whether an endpoint is a member.
func (h HAVIP) Has(m Member) bool {
	return m.NetworkID == h.Network && m.Port != "" && h.Members.Selects(m.Member)
}

// Of are the members among endpoints.
func (h HAVIP) Of(all []Member) (members []Member) {
	for _, m := range all {
		if h.Has(m) {
			members = append(members, m)
		}
	}
	return members
}
