// Package heddle holds the nouns of the container network: networks,
// endpoints, the facts of a host, plans and modes. It computes and never acts,
// so it imports the standard library only; package kernel makes what a plan
// says.
package heddle

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle/lazyregexp"
)

// Version of the program, set by the linker.
var Version = "0.1.0-dev"

// Network is a named address space with a mode.
type Network struct {
	// ID is the identity: 16 hexadecimal digits, never reused.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Mode is the name of the mode that wires the endpoints.
	Mode string `json:"mode"`
	// Subnets holds at most one IPv4 and one IPv6 prefix, masked.
	Subnets []netip.Prefix `json:"subnets,omitempty"`
	// Gateways has an address for each subnet, in the same order; on a LAN with
	// routers of its own, none for a family without a router.
	Gateways []netip.Addr `json:"gateways,omitempty"`
	// Ranges narrow the addresses given out; each lies in a subnet.
	Ranges []netip.Prefix `json:"ranges,omitempty"`
	// Reserved addresses are never given out, except by explicit request.
	Reserved []netip.Addr `json:"reserved,omitempty"`
	// Parent is the host's interface that the network stands on; empty means
	// the interface of the default route.
	Parent string `json:"parent,omitempty"`
	// MTU in bytes; 0 until the agent has taken it from the parent.
	MTU int `json:"mtu,omitempty"`
	// Internal networks have no way out and no published ports.
	Internal bool `json:"internal,omitempty"`
	// Options are the mode's own settings (--opt K=V).
	Options map[string]string `json:"options,omitempty"`
	// Labels are the users' own words about it.
	Labels map[string]string `json:"labels,omitempty"`
	// Allow names other networks (by ID) with which traffic is permitted.
	Allow []string `json:"allow,omitempty"`
	// Docker is what Docker knows of the network, if it was created there.
	Docker *DockerNetwork `json:"docker,omitempty"`
	// Shared says that the network is in the store, and all hosts have it.
	Shared bool `json:"shared,omitempty"`
	// Deleting says that the network is about to go, and takes no new endpoints.
	Deleting bool      `json:"deleting,omitempty"`
	Created  time.Time `json:"created"`
	// Limits says what the mode cannot do or prevent on this network. The agent
	// fills it in whenever it shows the network.
	Limits []string `json:"limits,omitempty"`
}

var networkName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// CheckNetworkName reports whether s can name a network.
func CheckNetworkName(s string) error {
	if !networkName.MatchString(s) {
		return Errorf(BadName, "check network name", Clip(s), "the name is malformed",
			"give a name of at most 64 bytes that has only letters, digits, '_', '.', '-' and starts with a letter or digit")
	}
	return nil
}

// Clip shortens untrusted text for an error message: it keeps the first 60 bytes of a
// long text.
func Clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

// GatewayFor returns the network's gateway of the address's family.
func (n Network) GatewayFor(a netip.Addr) (netip.Addr, bool) {
	g := OfFamily(n.Gateways, FamilyOf(a))
	return g, g.IsValid()
}

// HasFamily reports whether the network has a subnet of the family, or gets addresses of it from the LAN.
func (n Network) HasFamily(f Family) bool {
	return n.FromDHCP() && f == IPv4 || n.FromRouters() && f == IPv6 || slices.ContainsFunc(n.Subnets, func(s netip.Prefix) bool { return f.Has(s.Addr()) })
}
