package heddle

import (
	"fmt"
	"net/netip"
	"strings"
)

// Plan is the kernel objects wanted: on the host, and in the container's
// network namespace (the pod).
type Plan struct {
	Host State `json:"host"`
	Pod  State `json:"pod"`
}

// State is a set of kernel objects in one network namespace. Objects refer to
// each other by name; what only the kernel knows is resolved by its
// interpreter, package kernel. They are made in the order of the fields.
type State struct {
	Firewall   []Firewall  `json:"firewall,omitempty"`
	Links      []Link      `json:"links,omitempty"`
	NICs       []NIC       `json:"nics,omitempty"`
	Sysctls    []Sysctl    `json:"sysctls,omitempty"`
	Elements   []Element   `json:"elements,omitempty"`
	Forwards   []Forward   `json:"forwards,omitempty"`
	Addresses  []Address   `json:"addresses,omitempty"`
	Neighbours []Neighbour `json:"neighbours,omitempty"`
	Routes     []Route     `json:"routes,omitempty"`
	Rules      []Rule      `json:"rules,omitempty"`
	Redirects  []Redirect  `json:"redirects,omitempty"`
	Remotes    []Remote    `json:"remotes,omitempty"`
	Shortcuts  []Shortcut  `json:"shortcuts,omitempty"`
	Programs   []Program   `json:"programs,omitempty"`
}

// Object is one kernel object. Two objects with the same key are the same
// object, wanted in the same or (a conflict) in two different ways.
type Object interface {
	Key() string
	comparable() any
}

// Link is an interface. Kind is "bridge", "veth", "macvlan", "ipvlan", "vxlan", or "" for
// one that exists already and is only brought up (the loopback of a container).
type Link struct {
	Name  string `json:"name"`
	Kind  string `json:"kind,omitempty"`
	MTU   int    `json:"mtu,omitempty"`
	MAC   MAC    `json:"mac,omitempty"`
	Group uint32 `json:"group,omitempty"`
	Alias string `json:"alias,omitempty"`
	// Peer names the far end of a veth on the end that makes the pair; it lies
	// in the pod if PeerInPod is set. The far end is a Link of its own, without
	// Peer.
	Peer      string `json:"peer,omitempty"`
	PeerInPod bool   `json:"peerInPod,omitempty"`
	// Parent is the host's interface that a macvlan or ipvlan device stands on,
	// SubMode its behaviour towards others there: "bridge", "private", "vepa" or
	// "passthru" of a macvlan device, "l2", "l3" or "l3s" of an ipvlan device
	// (ip-link(8)).
	Parent  string `json:"parent,omitempty"`
	SubMode string `json:"subMode,omitempty"`
	// Tunnel makes a VXLAN device (kind "vxlan").
	Tunnel *Tunnel `json:"tunnel,omitempty"`
	// Master is the bridge that the link is a port of, Port how.
	Master string      `json:"master,omitempty"`
	Port   *BridgePort `json:"port,omitempty"`
	// NoAutoAddress keeps the kernel from making an IPv6 link-local address
	// (addr_gen_mode none).
	NoAutoAddress bool `json:"noAutoAddress,omitempty"`
	// GSOMax is the size of the largest IPv4 segment that the link is given whole, in
	// bytes; 0 leaves the kernel's 65,536. Linux before 6.3 knows no other.
	GSOMax int `json:"gsoMax,omitempty"`
	// Down leaves the link as it is born: down.
	Down bool `json:"down,omitempty"`
}

func (l Link) Key() string { return "link/" + l.Name }

// Tunnel holds a VXLAN device's settings (RFC 7348; ip-link(8)). It learns
// nothing and asks nobody: what it forwards to is in the plan.
type Tunnel struct {
	VNI uint32 `json:"vni"`
	// Local is the outer source address, whose family is the underlay's.
	Local netip.Addr `json:"local"`
	Port  uint16     `json:"port"`
	// SoftChecksums turns transmit checksum offload off.
	SoftChecksums bool `json:"softChecksums,omitempty"`
}

// BridgePort holds a port's switches; see bridge(8). False is off.
type BridgePort struct {
	Learning       bool `json:"learning"`
	Flood          bool `json:"flood"`
	MulticastFlood bool `json:"multicastFlood"`
	BroadcastFlood bool `json:"broadcastFlood"`
	// Hairpin lets a frame leave by the port it came in by.
	Hairpin bool `json:"hairpin"`
}

// Sysctl is a kernel setting; Name is in slash form ("net/ipv4/ip_forward").
// A setting outlives the plan that wanted it, but for LoopbackWay: what it was
// before cannot be known to be still wanted.
type Sysctl struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (s Sysctl) Key() string { return "sysctl/" + s.Name }

// Address is an address of an interface. IPv6 addresses skip duplicate address
// detection: the allocator has excluded duplicates, and detection would delay
// the first packet by a second.
type Address struct {
	Link   string       `json:"link"`
	Prefix netip.Prefix `json:"prefix"`
	// HostScope keeps an IPv4 address from being chosen as a source elsewhere; IPv6
	// has no such scopes.
	HostScope bool `json:"hostScope,omitempty"`
}

func (a Address) Key() string { return "address/" + a.Link + "/" + a.Prefix.String() }

// Neighbour is a permanent entry of the neighbour table.
type Neighbour struct {
	Link string     `json:"link"`
	Addr netip.Addr `json:"addr"`
	MAC  MAC        `json:"mac"`
}

func (n Neighbour) Key() string { return "neighbour/" + n.Link + "/" + n.Addr.String() }

// Forward is a static entry of a forwarding table: frames to MAC leave by the
// bridge's port Link or, with Dst, through the VXLAN device Link to the tunnel's
// end at Dst.
type Forward struct {
	Link string     `json:"link"`
	MAC  MAC        `json:"mac"`
	Dst  netip.Addr `json:"dst,omitzero"`
}

func (f Forward) Key() string { return "forward/" + f.Link + "/" + string(f.MAC) }

// Route is a route. Its protocol is RouteProtocol.
type Route struct {
	Dst netip.Prefix `json:"dst"`
	// Type is "" (unicast) or "unreachable".
	Type string `json:"type,omitempty"`
	Link string `json:"link,omitempty"`
	// Via is the next hop; of an IPv4 route it may be an IPv6 address (RFC 8950,
	// RTA_VIA).
	Via netip.Addr `json:"via,omitzero"`
	// OnLink accepts a next hop that no connected route covers.
	OnLink bool       `json:"onlink,omitempty"`
	Src    netip.Addr `json:"src,omitzero"`
	MTU    int        `json:"mtu,omitempty"`
	// Metric 0 is the kernel's default (0 for IPv4, 1024 for IPv6).
	Metric uint32 `json:"metric,omitempty"`
	// Table 0 is main.
	Table int `json:"table,omitempty"`
}

func (r Route) Key() string {
	return fmt.Sprintf("route/%d/%s/%d/%s", r.Table, r.Dst, r.Metric, r.Link)
}

// Rule is a policy routing rule.
type Rule struct {
	Priority int `json:"priority"`
	// Iif is the interface that packets have arrived on; "" is any, and those of
	// this host too.
	Iif   string       `json:"iif,omitempty"`
	From  netip.Prefix `json:"from,omitzero"`
	To    netip.Prefix `json:"to,omitzero"`
	Table int          `json:"table"`
}

func (r Rule) Key() string {
	from, to := "all", "all"
	if r.From.IsValid() {
		from = r.From.String()
	}
	if r.To.IsValid() {
		to = r.To.String()
	}
	key := fmt.Sprintf("rule/%d/%s/%s", r.Priority, from, to)
	if r.Iif != "" {
		key += "/" + r.Iif
	}
	return key
}

// Firewall is a static object of our nftables tables: Kind is "table", "set",
// "map", "counter" or "chain". Spec is what stands between the braces in nft's
// own language, without a chain's rules.
type Firewall struct {
	// Family is inet or bridge; the table is always named heddle.
	Family string   `json:"family"`
	Kind   string   `json:"kind"`
	Name   string   `json:"name,omitempty"`
	Spec   string   `json:"spec,omitempty"`
	Rules  []string `json:"rules,omitempty"`
}

func (f Firewall) Key() string {
	return strings.TrimSuffix("firewall/"+f.Family+"/"+f.Kind+"/"+f.Name, "/")
}

// Element is a member of one of our nftables sets or maps. Key and Value hold
// one text for each part of the set's type (see firewall.SetType); in a set of ranges, a
// part may be a prefix.
type Element struct {
	Family string   `json:"family"`
	Set    string   `json:"set"`
	Match  []string `json:"match"`
	Value  []string `json:"value,omitempty"`
}

func (e Element) Key() string {
	return "element/" + e.Family + "/" + e.Set + "/" + strings.Join(e.Match, ".")
}

func (l Link) comparable() any {
	port, tunnel := BridgePort{}, Tunnel{}
	if l.Port != nil {
		port = *l.Port
	}
	if l.Tunnel != nil {
		tunnel = *l.Tunnel
	}
	l.Port, l.Tunnel = nil, nil
	return struct {
		link   Link
		port   BridgePort
		tunnel Tunnel
	}{l, port, tunnel}
}
func (s Sysctl) comparable() any    { return s }
func (a Address) comparable() any   { return a }
func (n Neighbour) comparable() any { return n }
func (f Forward) comparable() any   { return f }
func (r Route) comparable() any     { return r }
func (r Rule) comparable() any      { return r }
func (f Firewall) comparable() any {
	return f.Key() + "\x00" + f.Spec + "\x00" + strings.Join(f.Rules, "\n")
}
func (e Element) comparable() any { return e.Key() + "\x00" + strings.Join(e.Value, ".") }

// Same reports whether two objects with the same key are wanted the same way.
func Same(a, b Object) bool { return a.comparable() == b.comparable() }

// Objects lists the state's objects in the order in which they are made.
func (s State) Objects() []Object {
	var all []Object
	all = appendObjects(all, s.Firewall)
	all = appendObjects(all, s.Links)
	all = appendObjects(all, s.NICs)
	all = appendObjects(all, s.Sysctls)
	all = appendObjects(all, s.Elements)
	all = appendObjects(all, s.Forwards)
	all = appendObjects(all, s.Addresses)
	all = appendObjects(all, s.Neighbours)
	all = appendObjects(all, s.Routes)
	all = appendObjects(all, s.Rules)
	all = appendObjects(all, s.Redirects)
	all = appendObjects(all, s.Remotes)
	all = appendObjects(all, s.Shortcuts)
	return appendObjects(all, s.Programs)
}

func appendObjects[T Object](all []Object, some []T) []Object {
	for _, o := range some {
		all = append(all, o)
	}
	return all
}

// Filter returns the objects for which keep is true.
func (s State) Filter(keep func(Object) bool) State {
	return State{
		Firewall: filter(s.Firewall, keep), Links: filter(s.Links, keep), NICs: filter(s.NICs, keep), Sysctls: filter(s.Sysctls, keep),
		Elements: filter(s.Elements, keep), Forwards: filter(s.Forwards, keep), Addresses: filter(s.Addresses, keep),
		Neighbours: filter(s.Neighbours, keep), Routes: filter(s.Routes, keep), Rules: filter(s.Rules, keep),
		Redirects: filter(s.Redirects, keep), Remotes: filter(s.Remotes, keep), Shortcuts: filter(s.Shortcuts, keep), Programs: filter(s.Programs, keep),
	}
}

func filter[T Object](in []T, keep func(Object) bool) []T {
	var out []T
	for _, o := range in {
		if keep(o) {
			out = append(out, o)
		}
	}
	return out
}

// Union adds the objects of o that s does not have; the objects of s come
// first. An object that both want differently is returned as a conflict.
func (s State) Union(o State) (State, []Object) {
	have := map[string]Object{}
	for _, x := range s.Objects() {
		have[x.Key()] = x
	}
	var conflicts []Object
	more := o.Filter(func(x Object) bool {
		old, known := have[x.Key()]
		if known && !Same(old, x) {
			conflicts = append(conflicts, x)
		}
		have[x.Key()] = x
		return !known
	})
	return Append(s, more), conflicts
}

// Empty reports whether nothing is wanted.
func (s State) Empty() bool { return len(s.Objects()) == 0 }

// Append joins two states without looking for duplicates; see Union.
func Append(s, o State) State {
	return State{
		Firewall: append(s.Firewall, o.Firewall...), Links: append(s.Links, o.Links...), NICs: append(s.NICs, o.NICs...),
		Sysctls: append(s.Sysctls, o.Sysctls...), Elements: append(s.Elements, o.Elements...),
		Forwards: append(s.Forwards, o.Forwards...), Addresses: append(s.Addresses, o.Addresses...),
		Neighbours: append(s.Neighbours, o.Neighbours...), Routes: append(s.Routes, o.Routes...),
		Rules: append(s.Rules, o.Rules...), Redirects: append(s.Redirects, o.Redirects...), Remotes: append(s.Remotes, o.Remotes...),
		Shortcuts: append(s.Shortcuts, o.Shortcuts...), Programs: append(s.Programs, o.Programs...),
	}
}
