package heddle

import (
	"net/netip"
	"slices"
	"time"
)

// LANIPv6 is what an endpoint has by the LAN's routers (RFC 4861, RFC 4862) and DHCPv6 servers (RFC 8415). Times are of the
// wall clock, so that they hold after a restart of the agent.
type LANIPv6 struct {
	// State is what the agent does about it: soliciting while no router has been heard, then advertised.
	State string `json:"state"`
	// Addresses are those that the endpoint may use.
	Addresses []LANAddress `json:"addresses,omitempty"`
	// Router is the default router: a link-local address. RouterMAC is from where it advertises, RouterUntil when it ends.
	Router      netip.Addr `json:"router,omitzero"`
	RouterMAC   MAC        `json:"routerMAC,omitempty"`
	RouterUntil time.Time  `json:"routerUntil,omitzero"`
	// MTU is the LAN's, 0 if no router names one. DNS and Search are shown, and not used.
	MTU    int          `json:"mtu,omitempty"`
	DNS    []netip.Addr `json:"dns,omitempty"`
	Search []string     `json:"search,omitempty"`
	// DHCP is how far a DHCPv6 server was asked: "" if no router says that there is one.
	DHCP string `json:"dhcp,omitempty"`
	// Server is the DUID of the DHCPv6 server, in hexadecimal digits. It is asked for more time at Renew (T1), all are at Rebind (T2).
	Server string    `json:"server,omitempty"`
	Renew  time.Time `json:"renew,omitzero"`
	Rebind time.Time `json:"rebind,omitzero"`
	// Trouble says why there is no address, or one less, "" if nothing is known.
	Trouble string `json:"trouble,omitempty"`
}

// The sources of a LANAddress.
const (
	SourceSLAAC  = "slaac"
	SourceDHCPv6 = "dhcpv6"
)

// LANAddress is an IPv6 address on a LAN. It has the length of the prefix that is on the link by a router's word, 128 if there
// is none.
type LANAddress struct {
	Address netip.Prefix `json:"address"`
	Source  string       `json:"source"`
	// Preferred is until when new connections should come from it, Valid when it must not be used any more.
	Preferred time.Time `json:"preferred"`
	Valid     time.Time `json:"valid"`
}

// Prefixes are the addresses.
func (l LANIPv6) Prefixes() (all []netip.Prefix) {
	for _, a := range l.Addresses {
		all = append(all, a.Address)
	}
	return all
}

// SameGrant reports whether both grant the same: what is recorded does not change with what the agent is about to do.
func (l LANIPv6) SameGrant(o LANIPv6) bool {
	same := func(a, b LANAddress) bool {
		return a.Address == b.Address && a.Source == b.Source && a.Preferred.Equal(b.Preferred) && a.Valid.Equal(b.Valid)
	}
	return slices.EqualFunc(l.Addresses, o.Addresses, same) && l.Router == o.Router && l.RouterMAC == o.RouterMAC &&
		l.RouterUntil.Equal(o.RouterUntil) && l.MTU == o.MTU && slices.Equal(l.DNS, o.DNS) && slices.Equal(l.Search, o.Search) &&
		l.Server == o.Server && l.Renew.Equal(o.Renew) && l.Rebind.Equal(o.Rebind)
}
