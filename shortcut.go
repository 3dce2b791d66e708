package heddle

import "net/netip"

// The fast path: eBPF programs that forward the packets they have a certain entry for,
// past the host's routing and firewall, and leave all other packets to these. A kernel
// that cannot load them works without: only speed depends on them.

// Program is the fast path's program on an interface. On the host end of an
// endpoint's veth it sees what the container sends; with Wire it is that of the
// underlay, and sees what arrives from other hosts.
type Program struct {
	Link string `json:"link"`
	Wire *Wire  `json:"wire,omitempty"`
}

func (p Program) Key() string { return "program/" + p.Link }

// Wire describes the VXLAN packets that arrive for this host (RFC 7348). Local and Local6
// are its underlay addresses, if it has them; MAC is the inner destination, the address
// of the tunnel devices.
type Wire struct {
	Local  netip.Addr `json:"local,omitzero"`
	Local6 netip.Addr `json:"local6,omitzero"`
	VNI    uint32     `json:"vni"`
	Port   uint16     `json:"port"`
	MAC    MAC        `json:"mac"`
}

// Shortcut tells the fast path where an address or a peer's block is: on this host
// behind Link, or on the peer with the underlay address Peer. With neither, packets are
// left to the slow path: for the host's own addresses and those without a fast path.
type Shortcut struct {
	Prefix netip.Prefix `json:"prefix"`
	// Group is the network's interface group. Only traffic within one is carried.
	Group uint32 `json:"group"`
	Link  string `json:"link,omitempty"`
	// MAC is the container's, PortMAC that of the host end, MTU the container's in
	// bytes.
	MAC     MAC `json:"mac,omitempty"`
	PortMAC MAC `json:"portMAC,omitempty"`
	MTU     int `json:"mtu,omitempty"`
	// Bridged containers are on one Ethernet: frames are addressed to each other,
	// and no TTL is taken.
	Bridged bool `json:"bridged,omitempty"`
	// BlockBits is the length of the network's blocks, if others have some.
	BlockBits int        `json:"blockBits,omitempty"`
	Peer      netip.Addr `json:"peer,omitzero"`
}

func (s Shortcut) Key() string { return "shortcut/" + s.Prefix.String() }

// Remote is a peer that the fast path writes VXLAN to.
type Remote struct {
	Addr  netip.Addr `json:"addr"`
	Local netip.Addr `json:"local"`
	// Link is the underlay's interface.
	Link string `json:"link"`
	VNI  uint32 `json:"vni"`
	Port uint16 `json:"port"`
	// MAC and OwnMAC are those of both ends' tunnel devices.
	MAC    MAC `json:"mac"`
	OwnMAC MAC `json:"ownMAC"`
	// MTU of an inner packet, in bytes.
	MTU int `json:"mtu"`
}

func (r Remote) Key() string { return "remote/" + r.Addr.String() }

func (p Program) comparable() any {
	wire := Wire{}
	if p.Wire != nil {
		wire = *p.Wire
	}
	p.Wire = nil
	return struct {
		program Program
		wire    Wire
	}{p, wire}
}
func (s Shortcut) comparable() any { return s }
func (r Remote) comparable() any   { return r }

// Fast reports whether the network uses the fast path: unless it was made with
// --opt fast-path=false.
func (n Network) Fast() bool { return n.Options["fast-path"] != "false" }

// FastPaths name the ways of the packets that the fast path carried, in the order of
// enum way in bpf/src/maps.h: to a container of this host, to a peer, from a peer.
var FastPaths = []string{"local", "sent", "received"}

// FastMisses name the reasons for leaving packets to the host's stack, in the order of
// enum reason there. The packet continued, except the first ones of "forwarded" that a
// container forwarded.
var FastMisses = []string{"protocol", "options", "fragment", "length", "ttl", "source", "destination", "network", "link", "mtu", "neighbour", "kernel", "peer", "ecn", "forwarded"}

// FastCounts is what the fast path did: packets and bytes by path, and the packets
// that it left to the host's stack by reason.
type FastCounts struct {
	Packets map[string]uint64 `json:"packets"`
	Bytes   map[string]uint64 `json:"bytes"`
	Missed  map[string]uint64 `json:"missed"`
}

// Carried and Left sum the packets up.
func (c FastCounts) Carried() uint64 { return total(c.Packets) }
func (c FastCounts) Left() uint64    { return total(c.Missed) }

func total(all map[string]uint64) (sum uint64) {
	for _, n := range all {
		sum += n
	}
	return sum
}
