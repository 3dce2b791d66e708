package heddle

import "net/netip"

// Link is an interface. Kind is "bridge", "veth", "macvlan", "ipvlan", "vxlan", "ifb", "tun" (the
// kernel's name for a TAP device, too, and here always that), or "" for one that exists already and is only brought up (the loopback of a container).
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
	// PeerNetns is the file of a network namespace of another agent's, where the far end lies. Whichever agent is first makes the pair.
	// Each has its own end alone in its plans.
	PeerNetns string `json:"peerNetns,omitempty"`
	// MadeElsewhere says that another agent makes the pair whose end this is, and gives it to this namespace. It is taken over when it is there.
	MadeElsewhere bool `json:"madeElsewhere,omitempty"`
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
	// GSOMax is the maximum size in bytes of an IPv4 GSO packet for the link; 0 leaves
	// the kernel's 65,536. Linux before 6.3 does not have the setting.
	GSOMax int `json:"gsoMax,omitempty"`
	// MultiQueue makes a TAP device that can be opened several times, each time for a queue. One that exists keeps what it has.
	MultiQueue bool `json:"multiQueue,omitempty"`
	// Down leaves the link as it is born: down.
	Down bool `json:"down,omitempty"`
}

func (l Link) Key() string { return "link/" + l.Name }

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

// Tunnel holds a VXLAN device's settings (RFC 7348; ip-link(8)). The device neither
// learns addresses nor sends queries: its forwarding entries are in the plan.
type Tunnel struct {
	VNI uint32 `json:"vni"`
	// Local is the outer source address, whose family is the underlay's.
	Local netip.Addr `json:"local"`
	Port  uint16     `json:"port"`
	// SoftChecksums turns transmit checksum offload off.
	SoftChecksums bool `json:"softChecksums,omitempty"`
}

// The UDP source ports of tunnels, from TunnelSourceLow up to but not including
// TunnelSourceEnd. The hash of the inner flow selects one. These are system ports (RFC
// 6335, section 6) that few services use; only privileged processes may bind them.
const (
	TunnelSourceLow uint16 = 512
	TunnelSourceEnd uint16 = 1024
)

// BridgePort holds a port's switches; see bridge(8). False is off.
type BridgePort struct {
	Learning       bool `json:"learning"`
	Flood          bool `json:"flood"`
	MulticastFlood bool `json:"multicastFlood"`
	BroadcastFlood bool `json:"broadcastFlood"`
	// Hairpin lets a frame leave by the port it came in by.
	Hairpin bool `json:"hairpin"`
}
