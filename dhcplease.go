package heddle

import (
	"net/netip"
	"slices"
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

// OptionIPv6 is the option by which a network whose addresses come from the LAN has IPv6 ones, too. IPv6Auto is its value for what the
// LAN's routers say: addresses of the container's own (SLAAC), or of a DHCPv6 server, or both.
const (
	OptionIPv6 = "ipv6"
	IPv6Auto   = "auto"
)

// FromRouters reports whether the network's endpoints get their IPv6 addresses as the LAN's routers say.
func (n Network) FromRouters() bool { return n.FromDHCP() && n.Options[OptionIPv6] == IPv6Auto }

// LeasedTo is the network as an endpoint has it: with the LAN's subnets and the routers that a DHCP server and IPv6 routers name, or with the
// NIC that was plugged in as its parent. Any other network stays as it is.
func (n Network) LeasedTo(e Endpoint) Network {
	if e.Parent != nil {
		n.Parent, n.Gateways = e.Parent.Name, e.Parent.gateways()
	}
	if !n.FromDHCP() || e.DHCP == nil {
		return n
	}
	n.Subnets, n.Gateways = nil, nil
	if e.DHCP.Held {
		if n.Subnets = append(n.Subnets, e.DHCP.Address.Masked()); e.DHCP.Router.IsValid() {
			n.Gateways = append(n.Gateways, e.DHCP.Router)
		}
	}
	if six := e.DHCP.IPv6; six != nil {
		for _, p := range six.Prefixes() {
			if p = p.Masked(); !slices.Contains(n.Subnets, p) {
				n.Subnets = append(n.Subnets, p)
			}
		}
		if six.Router.IsValid() {
			n.Gateways = append(n.Gateways, six.Router)
		}
	}
	return n
}

// WithDHCP is the endpoint with a lease, and its addresses while they are held.
func (e Endpoint) WithDHCP(l DHCPLease) Endpoint {
	e.DHCP, e.Addrs = &l, nil
	if l.Held {
		e.Addrs = []netip.Prefix{l.Address}
	}
	if l.IPv6 != nil {
		e.Addrs = append(e.Addrs, l.IPv6.Prefixes()...)
	}
	return e
}

// SameGrant reports whether both leases grant the same: what is recorded does not change with what
// the agent is about to do.
func (l DHCPLease) SameGrant(o DHCPLease) bool {
	if l.IPv6 == nil || o.IPv6 == nil {
		if l.IPv6 != o.IPv6 {
			return false
		}
	} else if !l.IPv6.SameGrant(*o.IPv6) {
		return false
	}
	return l.Renew.Equal(o.Renew) && l.Rebind.Equal(o.Rebind) && l.Expires.Equal(o.Expires) &&
		l.Held == o.Held && l.Address == o.Address && l.Server == o.Server && l.ServerMAC == o.ServerMAC && l.Router == o.Router &&
		slices.Equal(l.DNS, o.DNS) && l.Domain == o.Domain && slices.Equal(l.Search, o.Search) && l.MTU == o.MTU
}

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
	// IPv6 is what the endpoint has of the LAN's routers and DHCPv6 servers, on a network that takes it.
	IPv6 *LANIPv6 `json:"ipv6,omitempty"`
}
