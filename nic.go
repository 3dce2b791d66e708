package heddle

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// NICMark is the first word of the alias of a NIC that a container has. It is
// not Mark: the NIC is the user's, and what bears Mark may be deleted.
const NICMark = "heddle-nic"

// NICPrefix starts the name of a NIC that came back while its own was taken.
const NICPrefix = "hn"

// NIC is an interface that the host has and a container gets: it is moved into
// the container's namespace and renamed in one transaction, and when the
// endpoint goes it comes back as it was.
type NIC struct {
	// Name is the interface's on the host, IfName its name in the container.
	Name   string `json:"name"`
	IfName string `json:"ifname,omitempty"`
	MAC    MAC    `json:"mac"`
	// Alias marks the NIC while it is away.
	Alias string   `json:"alias,omitempty"`
	Was   NICState `json:"was"`
	// Plugged is set for a NIC that a provider has plugged in for the endpoint.
	Plugged *PluggedNIC `json:"plugged,omitempty"`
	// Device is set for a NIC that a program of the container drives itself. It is not moved: while the container has it, no kernel has an
	// interface of it.
	Device *NICDevice `json:"device,omitempty"`
}

// PluggedNIC is what a provider says of a NIC that it has plugged in.
type PluggedNIC struct {
	// Token is the name by which the provider knows the NIC.
	Token string `json:"token"`
	// Gateways are those of the NIC's network, at most one of each family.
	Gateways []netip.Addr `json:"gateways,omitempty"`
	// Closed are destinations that the container must not reach by the NIC, such as a cloud's metadata service: it gives whoever asks the
	// credentials of the machine.
	Closed []netip.Prefix `json:"closed,omitempty"`
	// Passes are the addresses that the port behind the NIC lets pass, if the container's address comes from a DHCP server there: none but
	// these, or any of a family that has none here. Otherwise they are the container's addresses.
	Passes []netip.Prefix `json:"passes,omitempty"`
	// Left is when another machine let go of it, if it was taken over from there. It is not recorded.
	Left time.Time `json:"-"`
}

// PortAddrs are the addresses that the port behind an endpoint's plugged NIC lets pass.
func (e Endpoint) PortAddrs() []netip.Prefix {
	if e.DHCP != nil && e.NIC != nil && e.NIC.Plugged != nil {
		return e.NIC.Plugged.Passes
	}
	return e.Addrs
}

func (n NIC) Key() string { return "nic/" + n.Name }

// comparable leaves out when the state was taken.
func (n NIC) comparable() any {
	n.Was.Taken = time.Time{}
	text, _ := json.Marshal(n)
	return string(text)
}

// TCXProgram is a BPF program at a tcx hook of an interface, "ingress" or "egress".
type TCXProgram struct {
	Hook string `json:"hook"`
	// Program is its number, Link that of the BPF link which holds it; 0 if none does.
	Program uint32 `json:"program"`
	Link    uint32 `json:"link,omitempty"`
}

// NICState is what a move between namespaces takes from an interface, or what
// a container may change about it. Flags, scopes, types and protocols are the
// kernel's numbers (linux/if_addr.h, linux/rtnetlink.h).
type NICState struct {
	Taken    time.Time `json:"taken"`
	Index    int       `json:"index"`
	Kind     string    `json:"kind,omitempty"`
	MTU      int       `json:"mtu"`
	Up       bool      `json:"up"`
	Promisc  bool      `json:"promisc,omitempty"`
	AllMulti bool      `json:"allmulti,omitempty"`
	NoARP    bool      `json:"noarp,omitempty"`
	// QueueLen is the transmit queue's length in packets.
	QueueLen int    `json:"queueLen"`
	Group    uint32 `json:"group,omitempty"`
	// XDP is the number of the attached program, which stays attached; XDPs are those
	// attached in the driver, in the stack (generic) and in hardware.
	XDP  uint32   `json:"xdp,omitempty"`
	XDPs []uint32 `json:"xdps,omitempty"`
	// TCX are the programs at its tcx hooks, which stay attached, too; nil in a record of
	// an agent that did not read them.
	TCX []TCXProgram `json:"tcx"`
	// NoMulticast, Flags (the others of netdevice(7) that a user may set), LinkMode
	// (1 is dormant), ProtoDown, Sizes (of GSO and GRO, in the order of package kernel)
	// and AltNames are as ip-link(8) has them.
	NoMulticast bool     `json:"noMulticast,omitempty"`
	Flags       uint32   `json:"flags,omitempty"`
	LinkMode    uint8    `json:"linkMode,omitempty"`
	ProtoDown   bool     `json:"protoDown,omitempty"`
	Sizes       []uint32 `json:"sizes,omitempty"`
	AltNames    []string `json:"altNames,omitempty"`
	// These fields identify the NIC in any namespace: its bus device, its permanent MAC
	// address and its port's name, if it has one; or the index of its far end or lower
	// device. If PeerElsewhere is set, that device is in the namespace whose ID on the
	// host is PeerNSID.
	Bus           string `json:"bus,omitempty"`
	Device        string `json:"device,omitempty"`
	Permanent     MAC    `json:"permanent,omitempty"`
	Port          string `json:"port,omitempty"`
	Peer          int    `json:"peer,omitempty"`
	PeerElsewhere bool   `json:"peerElsewhere,omitempty"`
	PeerNSID      int    `json:"peerNsid,omitempty"`
	// VLAN and VLANProtocol (IFLA_VLAN_PROTOCOL, as the kernel gives it) are the tag of
	// a VLAN device.
	VLAN         uint16 `json:"vlan,omitempty"`
	VLANProtocol uint16 `json:"vlanProtocol,omitempty"`
	// FarMAC is the MAC address of the far end of a pair, as it is on the host. The far
	// end may itself be a NIC that another container had and that has since returned.
	FarMAC     MAC            `json:"farMac,omitempty"`
	Alias      string         `json:"alias,omitempty"`
	Addrs      []NICAddress   `json:"addrs,omitempty"`
	Routes     []NICRoute     `json:"routes,omitempty"`
	Neighbours []NICNeighbour `json:"neighbours,omitempty"`
	// Sysctls are the interface's own settings that differ from the
	// namespace's defaults, by their full names.
	Sysctls []Sysctl `json:"sysctls,omitempty"`
}

// NICAddress is an address as the interface had it.
type NICAddress struct {
	Prefix    netip.Prefix `json:"prefix"`
	Peer      netip.Addr   `json:"peer,omitzero"`
	Broadcast netip.Addr   `json:"broadcast,omitzero"`
	Label     string       `json:"label,omitempty"`
	Scope     uint8        `json:"scope,omitempty"`
	Flags     uint32       `json:"flags,omitempty"`
	Protocol  uint8        `json:"protocol,omitempty"`
	Metric    uint32       `json:"metric,omitempty"`
	// Valid and Preferred are lifetimes in seconds from when the state was
	// taken; Finite says that they are not forever.
	Finite    bool   `json:"finite,omitempty"`
	Valid     uint32 `json:"valid,omitempty"`
	Preferred uint32 `json:"preferred,omitempty"`
}

// NICRoute is a route through the interface.
type NICRoute struct {
	Dst      netip.Prefix `json:"dst"`
	Type     uint8        `json:"type"`
	Table    uint32       `json:"table"`
	Protocol uint8        `json:"protocol"`
	Scope    uint8        `json:"scope,omitempty"`
	TOS      uint8        `json:"tos,omitempty"`
	Via      netip.Addr   `json:"via,omitzero"`
	OnLink   bool         `json:"onlink,omitempty"`
	Src      netip.Addr   `json:"src,omitzero"`
	Metric   uint32       `json:"metric,omitempty"`
	// Pref is the router preference of RFC 4191.
	Pref uint8 `json:"pref,omitempty"`
	// Metrics are the RTAX numbers (mtu, advmss, window …), Congestion the one
	// that is a name.
	Metrics    map[uint16]uint32 `json:"metrics,omitempty"`
	Congestion string            `json:"congestion,omitempty"`
	// Expires is a lifetime in seconds from when the state was taken, 0 forever.
	Expires uint32 `json:"expires,omitempty"`
}

// NICNeighbour is a permanent entry of the neighbour table, or a proxied
// address (without a MAC).
type NICNeighbour struct {
	Addr  netip.Addr `json:"addr"`
	MAC   MAC        `json:"mac,omitempty"`
	Proxy bool       `json:"proxy,omitempty"`
}

// NICGiver is an optional interface of modes that give a container a NIC of the
// host.
type NICGiver interface {
	// Pool lists the network's NICs, by name or MAC address.
	Pool(Network) []string
	// PlugsOn is the provider's network on which each endpoint gets a NIC that is plugged in for
	// it; "" for a network whose NICs are there.
	PlugsOn(Network) string
	// WarmNICs is how many NICs are to be plugged in before an endpoint asks for one: from least to most, as many as are used up.
	WarmNICs(Network) (least, most int)
	// DriverOf is the driver to which a NIC's device is bound for a program of the container that drives it itself; "" for NICs that are moved.
	DriverOf(Network) string
}

// NICAlias is the alias of a NIC while the endpoint has it.
func (id EndpointID) NICAlias(was string) string {
	return NICMark + " was=" + was + " endpoint=" + id.String()
}

// ParseNICAlias reads the name that a marked NIC had, and who has it: "" for one
// that came back under another name.
func ParseNICAlias(alias string) (was, endpoint string, ok bool) {
	rest, ok := strings.CutPrefix(alias, NICMark+" was=")
	was, endpoint, _ = strings.Cut(rest, " endpoint=")
	return was, endpoint, ok
}

// ReturnName is the name for a NIC that returns to the host while another interface
// has its old name.
func (n NIC) ReturnName() string {
	return NICPrefix + strings.ReplaceAll(string(n.MAC), ":", "")
}

// Fact describes the NIC as it was on the host.
func (n NIC) Fact() LinkFact {
	f := LinkFact{Name: n.Name, MTU: n.Was.MTU, MAC: n.MAC}
	for _, a := range n.Was.Addrs {
		f.Addrs = append(f.Addrs, a.Prefix)
	}
	if n.Plugged != nil {
		f.Gateways = slices.Clone(n.Plugged.Gateways)
	}
	for _, r := range n.Was.Routes {
		if r.Dst.Bits() == 0 && r.Via.IsValid() && r.Table == 254 {
			f.Gateways = append(f.Gateways, r.Via)
		}
	}
	return f
}

// HasDefault reports whether a default route of the host's main table
// (RT_TABLE_MAIN, 254) led through the NIC, or its provider named a gateway. No kernel has
// a route through a NIC that a program drives.
func (n NIC) HasDefault() bool {
	if n.Device != nil {
		return false
	}
	return n.Plugged != nil && len(n.Plugged.Gateways) > 0 || slices.ContainsFunc(n.Was.Routes, func(r NICRoute) bool { return r.Dst.Bits() == 0 && r.Table == 254 })
}
