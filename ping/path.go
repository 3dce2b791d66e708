package ping

import (
	"net/netip"

	"github.com/heddle-network/heddle"
)

// Path is by which way packets go, as the agent's records say. Nothing of it is the container's word.
type Path struct {
	From heddle.EndpointID `json:"from"`
	// To is the address, Asked the word that stood for it.
	To    netip.Addr `json:"to"`
	Asked string     `json:"asked,omitempty"`
	// Carrier is another endpoint of the container, if that sends to the address. Endpoint is who has the address.
	Carrier  heddle.EndpointID `json:"carrier,omitzero"`
	Endpoint heddle.EndpointID `json:"endpoint,omitzero"`
	// Where is the place to which the address belongs: one of the places, By how packets get there. Host is the other host, if it is on one, and
	// State that of the path to it, Gateway the first hop to the outside.
	Where   string     `json:"where"`
	By      string     `json:"by"`
	Host    string     `json:"host,omitempty"`
	State   string     `json:"state,omitempty"`
	Gateway netip.Addr `json:"gateway,omitzero"`
	// Masqueraded is "yes" or "no" for what leaves the network, "unknown" if the agent does not decide it.
	Masqueraded string `json:"masqueraded,omitempty"`
	// MTU is the largest IP packet that the path carries unfragmented, as far as it is known; 0 if it is not.
	MTU int `json:"mtu,omitempty"`
	// Text says it in words.
	Text string `json:"text"`
}

// Places.
const (
	Itself    = "the container itself"
	SameHost  = "this host"
	OtherHost = "another host"
	HostOwn   = "the host itself"
	LAN       = "the LAN"
	Outside   = "the outside"
	OtherVPC  = "another VPC"
	Nowhere   = "nowhere"
	Unknown   = "unknown"
)

// Ways.
const (
	Loopback = "loopback"
	FastPath = "the fast path"
	Bridge   = "the bridge"
	Stack    = "the host's stack"
	Tunnel   = "a tunnel"
	NIC      = "a NIC"
)

// End is an endpoint of this host, with its network, and what the host has for both.
type End struct {
	Endpoint heddle.Endpoint
	Network  heddle.Network
	Plan     heddle.State
	// Masqueraded is "yes", "no" or "unknown" of what leaves the network. OnLAN says that its containers are neighbours on their parent's own
	// LAN, OwnStack that they have the host's stack, CommonSubnet that others than endpoints may have addresses of its subnets.
	Masqueraded                   string
	OnLAN, OwnStack, CommonSubnet bool
}

// Facts are what the agent knows of a path.
type Facts struct {
	Host heddle.HostFacts
	// Asked is the endpoint that was named, From the one of its container that sends to the address (Carrier). Bytes is the size of the IP packet.
	Asked heddle.EndpointID
	From  End
	To    netip.Addr
	Bytes int
	// End is who of this host has the address; nil if nobody has it.
	End *End
	// FastPath says that the programs of the fast path run. Peers are the other hosts.
	FastPath bool
	Peers    []heddle.PeerStatus
	// Networks are those of this host whose subnets nobody else has. Routes are the static routes of a VPC, by where each leads. VPC says that this is the agent of one.
	Networks []heddle.Network
	Routes   map[netip.Prefix]string
	VPC      bool
}
