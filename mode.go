package heddle

import "net/netip"

// Mode describes how endpoints of a network are wired. Its methods are pure:
// the same arguments give the same plan, and nothing is touched.
type Mode interface {
	Name() string
	// About describes the mode to users.
	About() About
	// Check refuses what the mode cannot serve, before anything is recorded.
	Check(HostFacts, Network) error
	// Network plans what the network's endpoints on a host share.
	Network(HostFacts, Network) (Plan, error)
	// Endpoint plans one endpoint. The plan repeats objects that are shared with other
	// endpoints: a host's wanted state is the union of its plans.
	Endpoint(HostFacts, Network, Endpoint) (Plan, error)
}

// About describes a mode to users: help texts are made of it.
type About struct {
	// Summary says what a container gets.
	Summary string
	// Options are all that the mode knows. It refuses others.
	Options []ModeOption
}

// ModeOption is an option of a mode's networks.
type ModeOption struct {
	Name string
	// Values says what to write: "true|false", or a word in capital letters for words of the
	// user's.
	Values string
	// Text says what the option does, with the values that are not the default.
	Text string
}

// HostNamespace is an optional interface of modes whose endpoints may stay in the
// host's own namespace.
type HostNamespace interface {
	NeedsNamespace() bool
}

// Endless is an optional interface of modes whose networks have no endpoints here. They are not tried out on a throw-away host.
type Endless interface {
	HasNoEndpoints()
}

// TAPWirer is an optional interface of modes that can give an endpoint a TAP device.
type TAPWirer interface {
	WiresTAPs() bool
}

// PortGuarder is an optional interface of modes whose endpoints have a port on the host that sees all their frames, where policies can be
// enforced.
type PortGuarder interface {
	GuardsPorts() bool
}

// RateLimiter is an optional interface of modes whose endpoints have a port on the host that all their frames pass, both ways, so that
// they can be limited there (RateLimits).
type RateLimiter interface {
	LimitsRates() bool
}

// ParentSubnet is an optional interface of modes whose networks may lie within
// their parent's own subnet.
type ParentSubnet interface {
	SharesParentSubnet() bool
}

// CommonSubnet is an optional interface of modes whose networks may share a subnet with
// each other and with the host's interfaces: the host has a separate route to each of
// their containers. The addresses they allocate must differ.
type CommonSubnet interface {
	CommonSubnet() bool
}

// OwnSubnet is an optional interface of modes whose networks need a subnet that nobody else
// has. The agent chooses a free one for a request that names none.
type OwnSubnet interface {
	NeedsSubnet() bool
}

// OwnRange is an optional interface of those of them whose free subnets come from a range of their own, unless nothing in it is free.
type OwnRange interface {
	// OwnRange is the range of IPv4, and the lengths of a subnet of IPv4 and of IPv6.
	OwnRange() (four netip.Prefix, bits4, bits6 int)
}

// LANMode is an optional interface of modes whose containers are neighbours on
// their parent's own LAN: subnets, routers and addresses are that LAN's.
type LANMode interface {
	// Complete fills in what the user left out: the parent, its subnets, the
	// LAN's routers.
	Complete(HostFacts, Network) (Network, error)
}

// Beside is an optional interface of modes that cannot share a parent with every other
// network.
type Beside interface {
	// Beside refuses n on the parent that it has in common with other.
	Beside(n, other Network) error
}

// FixedMAC is an optional interface of modes whose containers may have the MAC
// address of a device that is there.
type FixedMAC interface {
	// MAC returns "" where the containers have addresses of their own.
	MAC(HostFacts, Network) MAC
}

// Limiter is an optional interface of modes that cannot do or prevent
// everything that others can.
type Limiter interface {
	Limits(Network) []string
}

// Reacher is an optional interface of modes whose networks span hosts. Networks
// of such a mode are in the store, if there is one.
type Reacher interface {
	// Reach plans what all the mode's networks need to reach other hosts: tunnel
	// devices, neighbours, who may deliver to them. The routes to the peers'
	// blocks are in the networks' own plans.
	Reach(HostFacts) Plan
	// Fits refuses a network that is invalid on every host, whatever the host's facts.
	// It is needed because records in the store were written by other hosts.
	Fits(Network) error
}

// FitsSpan returns the check for networks that several hosts share. It refuses a mode
// that does not span hosts, and otherwise calls the mode's Fits.
func FitsSpan(modes []Mode) func(Network) error {
	return func(n Network) error {
		for _, m := range modes {
			if r, spans := m.(Reacher); spans && m.Name() == n.Mode {
				return r.Fits(n)
			}
		}
		return Errorf(UnknownMode, "check shared network", n.Name, "the mode "+Clip(n.Mode)+" does not span hosts", "use a mode that does, such as overlay")
	}
}

// Masquerader is an optional interface of modes whose containers send to the outside through the host's firewall: with the host's address, or
// with their own.
type Masquerader interface {
	Masquerades(Network) bool
}

// HAVIPHolder is an optional interface of modes whose networks can have addresses that one of several endpoints holds at a time.
type HAVIPHolder interface {
	HoldsHAVIPs() bool
}

// Sizer is an optional interface of modes whose containers' MTU is not that of
// the interface their network stands on.
type Sizer interface {
	// MTU is that of a container's device on this host, in bytes.
	MTU(HostFacts, Network) int
}
