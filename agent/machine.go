package agent

import (
	"context"
	"net"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/kernel/coexist"
)

// PlanApplier makes, compares and removes plans. It is all that attach, detach, check, recovery
// and patrol need of a kernel. *kernel.Kernel is the real one, and documents the methods.
type PlanApplier interface {
	Apply(p heddle.Plan, pod kernel.Pod) (made []string, err error)
	Mend(want heddle.State) (made []string, err error)
	Diff(p heddle.Plan, pod kernel.Pod) ([]kernel.Difference, error)
	Remove(p heddle.Plan, pod kernel.Pod, wanted func(key string) bool) error
	Ours() (kernel.Owned, error)
	Prune(wanted func(key string) bool) (removed []string, err error)
}

// Namespaces finds the containers' network namespaces.
type Namespaces interface {
	OpenPod(path string) (kernel.Pod, error)
	FindPod(inode, cookie uint64) (kernel.Pod, error)
	DupPod(pod kernel.Pod) (kernel.Pod, error)
	IsOwn(pod kernel.Pod) bool
}

// LinkEnds finds the ends of links that engines move.
type LinkEnds interface {
	Has(name, alias string) (bool, error)
	HasPort(name string) (bool, error)
	FarEnd(near string, pod kernel.Pod) (*kernel.Seen, error)
}

// HostReader reads facts about the host.
type HostReader interface {
	Facts() (heddle.HostFacts, error)
	Destinations() ([]netip.Prefix, error)
	HostRoutes() ([]netip.Prefix, error)
	Drops() (map[string]uint64, error)
}

// NICs handles NICs of the host that are given to containers.
type NICs interface {
	Snapshot(name string) (heddle.NIC, error)
	CarriesDefault(name string) (bool, error)
	MarkNIC(n heddle.NIC) error
	RenewNIC(n heddle.NIC) error
	CheckDriver(driver string) error
	Device(n heddle.NIC, driver string) (heddle.NICDevice, error)
}

// LostNICs handles NICs on the host, or in a namespace that is held, that still have our mark.
type LostNICs interface {
	MarkedNICs() ([]kernel.MarkedNIC, error)
	Rescue(hold string) (names []string, err error)
	RescueHere(m kernel.MarkedNIC) error
	Release(hold string) error
}

// LAN knows who is on a parent's LAN, and removes containers from it.
type LAN interface {
	Heard(parent string) (all []heddle.MAC, number int, err error)
	MACsOfContainers(parent string, among []heddle.MAC, inside func(cookie uint64) bool) ([]heddle.MAC, error)
	DeviceOn(parent, alias string, known int, pod kernel.Pod) (index int, err error)
	Tenants(parent string) ([]kernel.Tenant, error)
	Evict(t kernel.Tenure, pod kernel.Pod) error
	Announce(pod kernel.Pod, ifname string, mac heddle.MAC, addrs []netip.Prefix) error
	OpenWire(in kernel.Pod, device string) (kernel.Wire, error)
}

// Connections handles the connections that the host tracks.
type Connections interface {
	ForgetAddresses(addrs []netip.Addr) error
	ForgetFlows(e heddle.Endpoint, published func(p heddle.PortMapping, to netip.Addr) bool) error
	ForgetShadows(at []heddle.Socket) error
	ForgetPrefixes(of, stay []netip.Prefix) error
}

// FastPath counts the packets of the fast path.
type FastPath interface {
	FastCounts(port string) (heddle.FastCounts, error)
	FastTotals() (heddle.FastCounts, error)
	Queues(pod kernel.Pod, name string) ([]heddle.Queue, error)
	SwitchOffFastPath() error
}

// PacketLogger tells of packets that rules have logged.
type PacketLogger interface {
	LogPackets(group uint16, size int, tell func(kernel.LoggedPacket), ended func(error)) (*kernel.PacketLog, error)
}

// Watcher reports changes that somebody else has made.
type Watcher interface {
	Watch(context.Context) (<-chan kernel.Change, error)
}

// Listener hears who says that it has an address.
type Listener interface {
	HearAnnouncements(bridge string, addrs []netip.Addr) (kernel.Announcements, error)
}

// PodSockets opens sockets in containers' namespaces.
type PodSockets interface {
	OpenEcho(pod kernel.Pod, f heddle.Family, whole bool) (*net.IPConn, error)
	DialPod(ctx context.Context, pod kernel.Pod, network, address string) (net.Conn, error)
}

// Firewalls are the chains of other firewalls. *coexist.Firewalls handles the real ones.
type Firewalls interface {
	Admit() (changed []string, err error)
	Stale() bool
	Withdraw() error
	Close() error
}

// Machine is all that the agent uses of the host's kernel, in parts for the types that use them.
type Machine struct {
	PlanApplier
	Namespaces
	LinkEnds
	HostReader
	NICs
	LostNICs
	LAN
	Connections
	FastPath
	PacketLogger
	Watcher
	Listener
	PodSockets
	Firewalls Firewalls
	// Listen fails if a program of the host listens on the port.
	Listen func(heddle.PortMapping) error
	Close  func() error
}

// Hooks are the functions by which a kernel asks and informs the agent; see kernel.Kernel.
type Hooks struct {
	Tripwire  func(step string) error
	Wanted    func(key string) int
	GivenAway func() []kernel.GivenNIC
	Lost      func(nic, what string)
}

// openMachine opens the kernel in the calling thread's network namespace.
func openMachine(h Hooks) (m Machine, err error) {
	k, err := kernel.Open()
	if err != nil {
		return m, err
	}
	k.Tripwire, k.Wanted, k.GivenAway, k.Lost = h.Tripwire, h.Wanted, h.GivenAway, h.Lost
	m = Machine{k, k, k, k, k, k, k, k, k, k, k, k, k, nil, portFree, k.Close}
	others, err := coexist.Open()
	if err == nil {
		m.Firewalls = others
	}
	return m, err
}
