package heddle

import (
	"cmp"
	"net/netip"
	"strings"
	"time"

	"github.com/heddle-network/heddle/lazyregexp"
)

// EndpointID names an endpoint: one interface of one container. It is the
// idempotency key of attach and detach.
type EndpointID struct {
	Container string `json:"container"`
	IfName    string `json:"ifname"`
}

func (id EndpointID) String() string { return id.Container + "/" + id.IfName }

// Compare orders endpoints by container, then by interface.
func (id EndpointID) Compare(other EndpointID) int {
	return cmp.Or(strings.Compare(id.Container, other.Container), strings.Compare(id.IfName, other.IfName))
}

// ShortID is how many digits of an id that a machine has made are enough to show.
const ShortID = 12

// madeID is an id that a container engine has made, as docker and containerd do.
var madeID = lazyregexp.New(`^[0-9a-f]{32,}$`)

// IsMade reports whether a container engine has made the container's ID.
func (id EndpointID) IsMade() bool { return madeID.MatchString(id.Container) }

// Short is the ID as tables show it: of a container's ID that an engine has made, the first digits.
func (id EndpointID) Short() string {
	if id.IsMade() {
		id.Container = id.Container[:ShortID]
	}
	return id.String()
}

// ParseEndpointID reads "container/ifname"; the interface defaults to eth0.
func ParseEndpointID(s string) (EndpointID, error) {
	container, ifname, found := strings.Cut(s, "/")
	if !found {
		ifname = "eth0"
	}
	id := EndpointID{container, ifname}
	return id, id.Check()
}

var containerID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// Check reports whether both parts are well formed: the container's id as the
// CNI specification defines it (at most 128 bytes), the interface name as the
// kernel does (at most 15 bytes).
func (id EndpointID) Check() error {
	if !containerID.MatchString(id.Container) {
		return Errorf(BadID, "check container ID", Clip(id.Container), "the container ID is malformed",
			"give an ID of at most 128 bytes that has only letters, digits, '_', '.', '-' and starts with a letter or digit")
	}
	return CheckIfName(id.IfName)
}

// CheckIfName reports whether the kernel takes s as an interface name.
func CheckIfName(s string) error {
	bad := s == "" || len(s) > 15 || s == "." || s == ".." || strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == '/' || r == ':' || r > '~'
	})
	if bad {
		return Errorf(BadIfName, "check interface name", Clip(s), "the kernel does not take it as an interface name",
			"give a name of 1 to 15 printable ASCII bytes without '/', ':' or spaces")
	}
	return nil
}

// Endpoint is one interface of one container on one network.
type Endpoint struct {
	ID EndpointID `json:"id"`
	// Host is the host that has it, in a list of all hosts' endpoints alone.
	Host string `json:"host,omitempty"`
	// Network is the network's ID, NetworkName its name. In a record it is the name at
	// the time of the attach.
	Network     string `json:"network"`
	NetworkName string `json:"networkName"`
	// Netns is the path by which the container's network namespace was opened.
	Netns string `json:"netns"`
	// TAP says that a virtual machine has the interface: the port is a TAP device, and there is no namespace.
	TAP bool `json:"tap,omitempty"`
	// MultiQueue says that the TAP device is one of several queues.
	MultiQueue bool `json:"multiQueue,omitempty"`
	// Addrs has one address for each subnet, with the subnet's length.
	Addrs []netip.Prefix `json:"addrs,omitempty"`
	// Further are more addresses of a virtual machine's interface. Its port lets them pass, too.
	Further []AddressSet `json:"further,omitempty"`
	// DHCP is the lease of the address, on a network whose addresses come from a DHCP server.
	DHCP *DHCPLease `json:"dhcp,omitempty"`
	// OwnRoutes says of an endpoint that is handed over that the routes which its engine made went with an earlier address of
	// its lease. They are the agent's now.
	OwnRoutes bool `json:"ownRoutes,omitempty"`
	MAC       MAC  `json:"mac,omitempty"`
	MTU       int  `json:"mtu,omitempty"`
	// NIC is the host's interface that the container was given, with its earlier state.
	NIC *NIC `json:"nic,omitempty"`
	// Parent is the NIC under the endpoint's device, if a provider has plugged it in.
	Parent *ParentNIC `json:"parent,omitempty"`
	// MovesTo is another machine of the same hypervisor, which may take over the NIC that was plugged in for the endpoint. When
	// that has happened, the endpoint ends here.
	MovesTo string        `json:"movesTo,omitempty"`
	Ports   []PortMapping `json:"ports,omitempty"`
	// DefaultRoute says that the container's default route leads through this
	// endpoint: at most one of a container's.
	DefaultRoute bool `json:"defaultRoute"`
	// Labels are the users' own words about it.
	Labels map[string]string `json:"labels,omitempty"`
	// Name is the name by which other containers of the network find it, "" if it has none.
	// Aliases are further ones, which several endpoints may have.
	Name    string   `json:"name,omitempty"`
	Aliases []string `json:"aliases,omitempty"`
	// NameServers are name servers of the host. What the container asks them, the resolver answers.
	NameServers []netip.Addr `json:"nameServers,omitempty"`
	// NameRoutes says that the container's engine makes the routes to them. Of several endpoints of
	// a container, one has it.
	NameRoutes bool `json:"nameRoutes,omitempty"`
	// NoFastPath makes all its packets take the host's stack.
	NoFastPath bool `json:"noFastPath,omitempty"`
	// Guarded says that a policy selects it. Its packets take the host's stack, too, since the policy is enforced there.
	Guarded bool `json:"guarded,omitempty"`
	// Limits are how much it may receive and send. What is limited takes the host's stack, too, since its limits are kept there.
	Limits RateLimits `json:"limits,omitzero"`
	// LimitsAsked are what the provider of its plugged NIC was asked for. It may allow less, which is in Limits then.
	LimitsAsked RateLimits `json:"limitsAsked,omitzero"`
	// Slot is the endpoint's ordinal on its network, the lowest one free at
	// attach. A mode that has room for few endpoints on one device uses it to
	// choose the device.
	Slot int `json:"slot"`
	// Handover says that somebody else moves the container's end of the link into
	// the container; Inside is what it is called there, "" until it has been seen.
	Handover bool   `json:"handover,omitempty"`
	Inside   string `json:"inside,omitempty"`
	// LinkOnly says that who moved it did nothing else there.
	LinkOnly bool `json:"linkOnly,omitempty"`
	// NoIPv6 says that it was seen there with IPv6 switched off, which is left so.
	NoIPv6 bool `json:"noIPv6,omitempty"`
	// Queues are those of the NIC in the container. They are not recorded: the agent looks when it shows one endpoint.
	Queues []Queue `json:"queues,omitempty"`
	// Port names the host's end of the link, if it has one. It is not recorded:
	// the agent fills it in whenever it shows the endpoint.
	Port string `json:"port,omitempty"`
	// Fast is what the fast path did for it: filled in when one endpoint is shown.
	Fast    *FastCounts `json:"fast,omitempty"`
	Created time.Time   `json:"created,omitzero"`
}

// TakesStack reports whether no packet of the endpoint may take the fast path.
func (e Endpoint) TakesStack() bool { return e.NoFastPath || e.Guarded || !e.Limits.IsZero() }

// Sources are all addresses of the endpoint, also the further ones, its IPv6 link-local one last.
func (e Endpoint) Sources() []netip.Addr {
	var all []netip.Addr
	v6 := false
	for _, a := range e.AllAddrs() {
		all = append(all, a.Addr())
		v6 = v6 || a.Addr().Is6()
	}
	if v6 {
		all = append(all, e.MAC.LinkLocal())
	}
	return all
}

// Interface is the name of the endpoint's interface in the container.
func (e Endpoint) Interface() string {
	if e.Inside != "" {
		return e.Inside
	}
	return e.ID.IfName
}
