// Package names says which names the endpoints of a host's networks have, on all hosts. The agent
// writes one file for each network, and the resolver answers from them: also while no agent runs.
package names

import (
	"net/netip"

	"github.com/heddle-network/heddle"
)

// Domain is the domain of all names: NAME.NETWORK.heddle.internal. The top-level domain "internal"
// is reserved for private use (ICANN board, resolution 2024.07.29.06).
const Domain = "heddle.internal"

// Network is a network with the names of its endpoints. It is the content of a file.
type Network struct {
	// ID and Name are the network's.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Internal says that the network has no way out: the host's resolvers are not asked for its
	// containers.
	Internal bool `json:"internal,omitempty"`
	// Listen are the addresses of this host at which the network's containers ask: one of each
	// family, or those of each NIC by which the host routes.
	Listen []netip.Addr `json:"listen,omitempty"`
	// Subnets are the network's, whose addresses stand behind its names alone; none for a LAN.
	Subnets []netip.Prefix `json:"subnets,omitempty"`
	// Endpoints are those that have a name, and all of this host, which may ask.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// Endpoint is an endpoint of a network, on any host.
type Endpoint struct {
	ID heddle.EndpointID `json:"id"`
	// Pod is what a container's endpoints have in common if it is not their ID's container: engines
	// that name endpoints have an ID for each.
	Pod string `json:"pod,omitempty"`
	// Host is the name of the endpoint's host; "" is this one.
	Host string `json:"host,omitempty"`
	// Name is the endpoint's own, "" if it has none. If two endpoints of a network have the same
	// one, both are answered, and the clash is told.
	Name string `json:"name,omitempty"`
	// Aliases are names that several endpoints may have, such as that of a service.
	Aliases []string `json:"aliases,omitempty"`
	// Addrs has at most one address of each family, and none if only the container knows it: then
	// the endpoint has no name.
	Addrs []netip.Addr `json:"addrs,omitempty"`
	// Ports are those that it has published, as Ports lists them.
	Ports []string `json:"ports,omitempty"`
}

// Search are the domains in which the containers of a network look for a name without a dot.
func Search(network string) []string { return []string{network + "." + Domain, Domain} }
