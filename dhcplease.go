package heddle

import (
	"net/netip"
	"time"
)

// OptionAddresses is the option by which a network says where its addresses come from.
// AddressesDHCP is its value for the DHCP server of the parent's LAN.
const (
	OptionAddresses = "addresses"
	AddressesDHCP   = "dhcp"
)

// FromDHCP reports whether the network's endpoints get their addresses from the LAN's DHCP server.
func (n Network) FromDHCP() bool { return n.Options[OptionAddresses] == AddressesDHCP }

// DHCPLease is what a DHCP server has leased to an endpoint (RFC 2131). Times are of the wall clock,
// so that they hold after a restart of the agent.
type DHCPLease struct {
	// State is what the agent does about it: bound, renewing, rebinding, rebooting; or selecting,
	// requesting and probing while there is none. Held says that the endpoint may use the address.
	State string `json:"state"`
	Held  bool   `json:"held"`
	// Address has the length of the LAN's mask. Without a lease it is the last one.
	Address netip.Prefix `json:"address,omitzero"`
	// Server is the server's identifier, ServerMAC who sent its answer: the server or a relay.
	Server    netip.Addr `json:"server,omitzero"`
	ServerMAC MAC        `json:"serverMAC,omitempty"`
	// Router is the default gateway, if the server names one.
	Router netip.Addr   `json:"router,omitzero"`
	DNS    []netip.Addr `json:"dns,omitempty"`
	Domain string       `json:"domain,omitempty"`
	Search []string     `json:"search,omitempty"`
	// MTU is the LAN's, 0 if the server names none.
	MTU int `json:"mtu,omitempty"`
	// Renew (T1) is when the server is asked for more time, Rebind (T2) when all servers are, and
	// Expires when the address must not be used any more.
	Renew   time.Time `json:"renew,omitzero"`
	Rebind  time.Time `json:"rebind,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	// Trouble says why the lease could not be got or renewed, "" if it could.
	Trouble string `json:"trouble,omitempty"`
}
