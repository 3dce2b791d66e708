// Package heddle holds the nouns of the container network: networks,
// endpoints, the facts of a host, plans and modes. It computes and never acts,
// so it imports the standard library only; package kernel makes what a plan
// says.
package heddle

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
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

// EndpointID names an endpoint: one interface of one container. It is the
// idempotency key of attach and detach.
type EndpointID struct {
	Container string `json:"container"`
	IfName    string `json:"ifname"`
}

func (id EndpointID) String() string { return id.Container + "/" + id.IfName }

// ParseEndpointID reads "container/ifname"; the interface defaults to eth0.
func ParseEndpointID(s string) (EndpointID, error) {
	container, ifname, found := strings.Cut(s, "/")
	if !found {
		ifname = "eth0"
	}
	id := EndpointID{container, ifname}
	return id, id.Check()
}

var containerID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)
var networkName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// Check reports whether both parts are well formed: the container's id as the
// CNI specification defines it (at most 128 bytes), the interface name as the
// kernel does (at most 15 bytes).
func (id EndpointID) Check() error {
	if !containerID.MatchString(id.Container) {
		return Errorf(BadID, "endpoint", Clip(id.Container),
			"an id starts with a letter or digit, goes on with letters, digits, '_', '.', '-', and has at most 128 bytes")
	}
	return CheckIfName(id.IfName)
}

// CheckIfName reports whether the kernel takes s as an interface name.
func CheckIfName(s string) error {
	bad := s == "" || len(s) > 15 || s == "." || s == ".." || strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == '/' || r == ':' || r > '~'
	})
	if bad {
		return Errorf(BadIfName, "interface name", Clip(s), "an interface name has 1 to 15 printable ASCII bytes without '/', ':' or spaces")
	}
	return nil
}

// CheckNetworkName reports whether s can name a network.
func CheckNetworkName(s string) error {
	if !networkName.MatchString(s) {
		return Errorf(BadName, "network", Clip(s), "a network's name starts with a letter or digit, goes on with letters, digits, '_', '.', '-', and has at most 64 bytes")
	}
	return nil
}

// Clip is what an error quotes of a text that somebody else gave: of a long one the
// first 60 bytes.
func Clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

// PortMapping publishes a port of an endpoint on the host.
type PortMapping struct {
	// HostIP restricts the mapping to one address of the host; the zero value
	// means all of them.
	HostIP        netip.Addr `json:"hostIP,omitzero"`
	HostPort      uint16     `json:"hostPort"`
	ContainerPort uint16     `json:"containerPort"`
	// Protocol is "tcp" or "udp".
	Protocol string `json:"protocol"`
}

func (p PortMapping) String() string {
	host := ""
	if p.HostIP.IsValid() {
		host = p.HostIP.String() + ":"
		if p.HostIP.Is6() {
			host = "[" + p.HostIP.String() + "]:"
		}
	}
	return fmt.Sprintf("%s%d:%d/%s", host, p.HostPort, p.ContainerPort, p.Protocol)
}

// Endpoint is one interface of one container on one network.
type Endpoint struct {
	ID EndpointID `json:"id"`
	// Network is the network's ID, NetworkName its name: in a record that of the
	// time of the attach.
	Network     string `json:"network"`
	NetworkName string `json:"networkName"`
	// Netns is the path by which the container's network namespace was opened.
	Netns string `json:"netns"`
	// Addrs has one address for each subnet, with the subnet's length.
	Addrs []netip.Prefix `json:"addrs,omitempty"`
	MAC   MAC            `json:"mac,omitempty"`
	MTU   int            `json:"mtu,omitempty"`
	// NIC is the host's interface that the container was given, with how it was.
	NIC   *NIC          `json:"nic,omitempty"`
	Ports []PortMapping `json:"ports,omitempty"`
	// DefaultRoute says that the container's default route leads through this
	// endpoint: at most one of a container's.
	DefaultRoute bool `json:"defaultRoute"`
	// Labels are the users' own words about it.
	Labels map[string]string `json:"labels,omitempty"`
	// NoFastPath has all its packets take the host's stack.
	NoFastPath bool `json:"noFastPath,omitempty"`
	// Slot is the endpoint's ordinal on its network, the lowest one free at
	// attach. A mode that has room for few endpoints on one device uses it to
	// choose the device.
	Slot int `json:"slot"`
	// Handover says that somebody else moves the container's end of the link into
	// the container; Inside is what it is called there, "" until it has been seen.
	Handover bool   `json:"handover,omitempty"`
	Inside   string `json:"inside,omitempty"`
	// NoIPv6 says that it was seen there with IPv6 switched off, which is left so.
	NoIPv6 bool `json:"noIPv6,omitempty"`
	// Port names the host's end of the link, if it has one. It is not recorded:
	// the agent fills it in whenever it shows the endpoint.
	Port string `json:"port,omitempty"`
	// Fast is what the fast path did for it: filled in when one endpoint is shown.
	Fast    *FastCounts `json:"fast,omitempty"`
	Created time.Time   `json:"created"`
}

// HostFacts is what a plan may depend on besides the network and the endpoint.
type HostFacts struct {
	Name   string     `json:"name"`
	BootID string     `json:"bootID"`
	Kernel string     `json:"kernel"`
	Links  []LinkFact `json:"links"`
	// Listening are the sockets of the host that wait for whoever calls, of the ports
	// that masquerading uses.
	Listening []Socket `json:"listening,omitempty"`
	// Secured is what IPsec policies of the host look after.
	Secured []Secured `json:"secured,omitempty"`
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

// GatewayFor returns the network's gateway of the address's family.
func (n Network) GatewayFor(a netip.Addr) (netip.Addr, bool) {
	g := OfFamily(n.Gateways, FamilyOf(a))
	return g, g.IsValid()
}

// HasFamily reports whether the network has a subnet of the family.
func (n Network) HasFamily(f Family) bool {
	return slices.ContainsFunc(n.Subnets, func(s netip.Prefix) bool { return f.Has(s.Addr()) })
}
