package heddle

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// HostFacts is what a plan may depend on besides the network and the endpoint.
type HostFacts struct {
	Name   string     `json:"name"`
	BootID string     `json:"bootID"`
	Kernel string     `json:"kernel"`
	Links  []LinkFact `json:"links"`
	// Listening are the host's listening sockets on the ports that masquerading uses.
	Listening []Socket `json:"listening,omitempty"`
	// Secured is the traffic that the host's IPsec policies apply to.
	Secured []Secured `json:"secured,omitempty"`
	// Resolves says that containers' questions for names are answered on this host.
	Resolves bool `json:"resolves,omitempty"`
	// Fabric is the cluster that the host belongs to, nil if to none.
	Fabric *Fabric `json:"fabric,omitempty"`
}

// LinkFact describes one of the host's interfaces.
type LinkFact struct {
	Name  string         `json:"name"`
	MTU   int            `json:"mtu"`
	MAC   MAC            `json:"mac,omitempty"`
	Up    bool           `json:"up"`
	Addrs []netip.Prefix `json:"addrs,omitempty"`
	// Gateways are the next hops of the default routes through this link.
	Gateways []netip.Addr `json:"gateways,omitempty"`
	// Advertised says that an IPv6 router advertisement gave a default route;
	// it is lost when forwarding is turned on, unless accept_ra is 2.
	Advertised bool `json:"advertised,omitempty"`
}

// Link returns the named interface.
func (h HostFacts) Link(name string) (LinkFact, bool) {
	for _, l := range h.Links {
		if l.Name == name {
			return l, true
		}
	}
	return LinkFact{}, false
}

// Holder returns the interface that has the address.
func (h HostFacts) Holder(addr netip.Addr) (LinkFact, bool) {
	for _, l := range h.Links {
		if slices.ContainsFunc(l.Addrs, func(p netip.Prefix) bool { return p.Addr() == addr }) {
			return l, true
		}
	}
	return LinkFact{}, false
}

// Uplink returns the network's parent, or else the first interface with a
// default route.
func (h HostFacts) Uplink(n Network) (LinkFact, bool) {
	if n.Parent != "" {
		return h.Link(n.Parent)
	}
	for _, l := range h.Links {
		if len(l.Gateways) > 0 {
			return l, true
		}
	}
	return LinkFact{}, false
}

// Socket is a listening socket.
type Socket struct {
	// Protocol is "tcp", "udp" or "sctp".
	Protocol string `json:"protocol"`
	Port     uint16 `json:"port"`
}

// Compare orders sockets by protocol and port.
func (s Socket) Compare(o Socket) int {
	return cmp.Or(strings.Compare(s.Protocol, o.Protocol), cmp.Compare(s.Port, o.Port))
}
