package heddle

import (
	"fmt"
	"net/netip"
	"time"
)

// AttachRequest asks for an endpoint.
type AttachRequest struct {
	Network string     `json:"network"`
	ID      EndpointID `json:"id"`
	// Netns is the path of the container's network namespace.
	Netns string `json:"netns,omitempty"`
	// TAP asks for a port that is a TAP device, in place of a container's interface. Whoever opens
	// it, such as an emulator, sends and receives the frames of the endpoint (linux/if_tun.h).
	TAP bool `json:"tap,omitempty"`
	// MultiQueue makes the TAP device one that is opened for several queues (IFF_MULTI_QUEUE).
	MultiQueue bool `json:"multiQueue,omitempty"`
	// IPs asks for at most one address of each family.
	IPs   []netip.Addr  `json:"ips,omitempty"`
	MAC   MAC           `json:"mac,omitempty"`
	Ports []PortMapping `json:"ports,omitempty"`
	// Holders are processes that may already listen on the ports, for the container: an engine that
	// binds them before it has the container attached.
	Holders []int `json:"-"`
	// DefaultRoute says whether the container's default route is to lead through
	// this endpoint; nil leaves it to the first one that can carry it.
	DefaultRoute *bool `json:"defaultRoute,omitempty"`
	// NoFastPath makes all its packets take the host's stack. Use it when other software
	// has qdiscs on the endpoint's host end.
	NoFastPath bool `json:"noFastPath,omitempty"`
	// Limits are how much it may receive and send. A burst of 0 is one that suits the rate.
	Limits RateLimits `json:"limits,omitzero"`
	// Labels are the users' own words about the endpoint.
	Labels map[string]string `json:"labels,omitempty"`
	// Name and Aliases are names by which other containers of the network find it, see
	// CheckNames.
	Name    string   `json:"name,omitempty"`
	Aliases []string `json:"aliases,omitempty"`
	// ResolvConf has the agent write the resolv.conf that 'ip netns exec' shows in a namespace
	// with a name.
	ResolvConf bool `json:"resolvConf,omitempty"`
	// AsksHost says that the container asks the host's name servers for names. Where a resolver runs,
	// it answers in their place.
	AsksHost bool `json:"asksHost,omitempty"`
	// NIC asks for one of the network's NICs, by name or MAC address.
	NIC string `json:"nic,omitempty"`
	// MoveFrom is another machine of the same hypervisor, whose endpoint of the same ID permits that its NIC moves here: see
	// Endpoint.MovesTo. The NIC keeps its MAC address and its addresses.
	MoveFrom string `json:"moveFrom,omitempty"`
	// SSH is the address of this host that the caller is connected to, if it
	// came by SSH; Force takes the NIC that has it all the same, or the one with
	// the host's default route.
	SSH   netip.Addr `json:"ssh,omitzero"`
	Force bool       `json:"force,omitempty"`
	// Owner says through which door and for whom, such as "cli", "netavark/mynet" or
	// "cni/mynet"; garbage collection stays within one owner.
	Owner string `json:"owner,omitempty"`
	// Handover leaves the container's end of the link on the host, under the name
	// that the reply says: somebody else moves it into the container, names it
	// there, and gives it its addresses and routes. Netns is where it will be; it
	// need not exist yet.
	Handover bool `json:"handover,omitempty"`
	// LinkOnly says, for a handover, that who moves the link does nothing else in the container, as a runtime that is told of it by
	// linux.netDevices (OCI runtime specification 1.3). The agent gives it what it needs there, once it is up under another name.
	LinkOnly bool `json:"linkOnly,omitempty"`
	// DryRun plans and prints, and leaves everything as it is.
	DryRun bool `json:"dryRun,omitempty"`
}

// AttachReply is the endpoint, and for a dry run the commands.
type AttachReply struct {
	Endpoint Endpoint     `json:"endpoint"`
	Gateways []netip.Addr `json:"gateways,omitempty"`
	// Resolvers are the addresses of this host at which the container asks for names.
	Resolvers []netip.Addr `json:"resolvers,omitempty"`
	// Search are the domains in which it looks for a name without a dot, if there are Resolvers.
	Search []string `json:"search,omitempty"`
	// PortMAC and PortName describe the host's end of the link.
	PortName string   `json:"portName,omitempty"`
	PortMAC  MAC      `json:"portMAC,omitempty"`
	Commands []string `json:"commands,omitempty"`
	// Source names, for a handover, the link on the host that goes into the
	// container, and Routes what it needs there besides its addresses and the
	// default route through Gateways: connected routes first, those with a next
	// hop after them.
	Source string  `json:"source,omitempty"`
	Routes []Route `json:"routes,omitempty"`
	// Dark is how long no container had the NIC that moved here, in nanoseconds.
	Dark time.Duration `json:"dark,omitempty"`
	// Existed says that the endpoint had been made by an earlier call.
	Existed bool `json:"existed,omitempty"`
}

// Finding is one disagreement between ledger, kernel and containers.
type Finding struct {
	// Kind is "leftover" (ours in the kernel, wanted by nobody), "missing",
	// "differs", "gone" (an endpoint whose namespace is no more), "pending" (an
	// operation not finished), "quarantine" (a container that may not have let go of
	// what it had) or "stranger" (a device of a container's own making on the LAN).
	Kind   string `json:"kind"`
	Object string `json:"object"`
	Owner  string `json:"owner,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Remedy says what mends it.
	Remedy string `json:"remedy,omitempty"`
}

// Status is the health of an agent on one screen.
type Status struct {
	Host      string          `json:"host"`
	Version   string          `json:"version"`
	Kernel    string          `json:"kernel"`
	BootID    string          `json:"bootID"`
	UpSeconds int64           `json:"upSeconds"`
	Ready     bool            `json:"ready"`
	Parts     []PartStatus    `json:"parts"`
	Networks  []NetworkStatus `json:"networks"`
	Endpoints int             `json:"endpoints"`
	// Drops counts packets by reason, see firewall.DropReasons.
	Drops map[string]uint64 `json:"drops"`
	// Fast is what the fast path did, nil where there is none.
	Fast *FastCounts `json:"fast,omitempty"`
	// NICSlots is what the provider of NICs said last, nil where there is none or it does not answer.
	NICSlots *NICSlots `json:"nicSlots,omitempty"`
	// Repairs counts objects put back after somebody else removed them.
	Repairs uint64 `json:"repairs"`
	// Late is the work that takes longer than it should, the oldest first.
	Late []Late `json:"late,omitempty"`
}

// Late is work that should have been done at least two seconds ago, and is not.
type Late struct {
	// What is being done: "make", "change", "remove", "repair", "attach" and the like.
	What string `json:"what"`
	// Network is the name of the network that it is for, or its ID on a host that does
	// not have it; Endpoint the endpoint, if it is for one.
	Network  string `json:"network,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Since is when it began, Seconds how long ago that is.
	Since   time.Time `json:"since"`
	Seconds float64   `json:"seconds"`
	// Waits is what it waits for: "the kernel", "the store", "its turn".
	Waits string `json:"waits"`
}

func (l Late) String() string {
	object := "endpoint " + l.Endpoint
	switch {
	case l.Endpoint == "" && l.Network == "":
		object = "this host"
	case l.Endpoint == "":
		object = "network " + l.Network
	}
	return fmt.Sprintf("%s: %s, waiting for %s for %.0f s", object, l.What, l.Waits, l.Seconds)
}

// PartStatus is one line of the status: a part of the agent, in a word.
type PartStatus struct {
	Name   string `json:"name"`
	State  string `json:"state"` // "ok", "warn" or "bad"
	Detail string `json:"detail,omitempty"`
}

// Part is the line of a part of the agent, empty where the agent has no such part.
func (s Status) Part(name string) PartStatus {
	for _, p := range s.Parts {
		if p.Name == name {
			return p
		}
	}
	return PartStatus{}
}

// PartWork is the name of the part that tells what is late.
const PartWork = "work"

// PartEndpoints is the name of the part that tells which endpoints are being made or removed.
const PartEndpoints = "endpoints"

// NetworkStatus is a network's use.
type NetworkStatus struct {
	Name      string `json:"name"`
	Mode      string `json:"mode"`
	Endpoints int    `json:"endpoints"`
	// Free is the number of addresses left, by the scarcest family; -1 where
	// the network has no addresses, and capped at 2^53.
	Free int64 `json:"free"`
	// NICs is the network's pool of NICs, nil where it has none.
	NICs *NICPool `json:"nics,omitempty"`
}

// NICPool are the NICs that wait for endpoints of a network.
type NICPool struct {
	// Warm is how many can be given now. Cooling is how many rest, since an endpoint has just had them.
	Warm    int `json:"warm"`
	Cooling int `json:"cooling"`
	// Target is how many should be warm, by the attaches of the last ten minutes: from Least to Most.
	Target int `json:"target"`
	Least  int `json:"least"`
	Most   int `json:"most"`
}

// NICSlots is how many NICs a provider gives to this machine.
type NICSlots struct {
	// Machine is the provider's name for this machine.
	Machine string `json:"machine"`
	// Slots is how many it gives at a time, Free how many more it gives now.
	Slots int `json:"slots"`
	Free  int `json:"free"`
}

// ExplainedNetwork is what the agent knows about a network: the commands that would make what its
// endpoints share on this host, and where the kernel differs.
type ExplainedNetwork struct {
	Network  Network   `json:"network"`
	Commands []string  `json:"commands"`
	Drift    []Finding `json:"drift"`
}

// Explained is what the agent knows about an endpoint: the commands that would
// make it, and where the kernel differs.
type Explained struct {
	Endpoint Endpoint  `json:"endpoint"`
	Commands []string  `json:"commands"`
	Drift    []Finding `json:"drift"`
}
