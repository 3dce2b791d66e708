// Package span makes hosts that share networks, from plans and package kernel alone: namespaces on
// one underlay, each with the state that mode overlay wants. There is no agent and no store, so
// that tests see what the plans do.
package span

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/mode/overlay"
	"github.com/heddle-network/heddle/path"
	"github.com/heddle-network/heddle/test/world"
)

// UnderlayMTU is the MTU of the wire between the hosts, unless a test has another.
const UnderlayMTU = 1500

// VNI is the cluster's VXLAN network identifier.
const VNI = 4711

// Host is a host of the cluster: a namespace with eth0 on the underlay.
type Host struct {
	world.Netns
	Record    heddle.Host
	facts     heddle.HostFacts
	kernel    *kernel.Kernel
	underlays []netip.Addr
	// programs are those of the fast path that were ever applied, by interface.
	programs map[string]heddle.Program
	// pods are the host's parts of its containers' plans.
	pods []heddle.Plan
}

// Cluster is two hosts and the LAN between them. The LAN is a namespace of its own: it is the
// outside, and a stranger on the underlay.
type Cluster struct {
	LAN      world.Netns
	Hosts    [2]*Host
	networks []heddle.Network
	third    *heddle.Host
}

// The LAN's own addresses, and those of the hosts.
var (
	LAN4 = netip.MustParseAddr("192.0.2.1")
	LAN6 = netip.MustParseAddr("2001:db8::1")
)

// New makes two hosts that reach each other by IPv4, or by IPv6 alone (their addresses of
// IPv4 stay, for the outside).
func New(t testing.TB, f heddle.Family) *Cluster {
	t.Helper()
	return NewWithMTU(t, f, UnderlayMTU)
}

// NewWithMTU is New with a wire of that MTU. Below 1280 it has no IPv6.
func NewWithMTU(t testing.TB, f heddle.Family, mtu int) *Cluster {
	t.Helper()
	c := &Cluster{LAN: world.NewNetns(t, "lan")}
	c.LAN.Sh(t, `ip link set lo up; ip link add br0 type bridge; ip link set br0 up
		ip address add %s/24 dev br0; ip address add %s/64 dev br0 nodad`, LAN4, LAN6)
	for i := range c.Hosts {
		c.Hosts[i] = c.newHost(t, i, f, mtu)
	}
	for i, h := range c.Hosts {
		h.facts = heddle.HostFacts{Name: h.Name, Links: []heddle.LinkFact{{Name: "eth0", MTU: mtu, Up: true, Gateways: []netip.Addr{LAN4, LAN6},
			Addrs: []netip.Prefix{netip.PrefixFrom(h.underlays[0], 24), netip.PrefixFrom(h.underlays[1], 64)}}}}
		h.facts.Fabric = &heddle.Fabric{Cluster: "span", VNI: VNI, Port: path.Default().Port(), Self: h.Record, Peers: []heddle.Host{c.Hosts[1-i].Record}}
	}
	return c
}

func (c *Cluster) newHost(t testing.TB, i int, f heddle.Family, mtu int) *Host {
	t.Helper()
	h := &Host{Netns: world.NewNetns(t, fmt.Sprintf("host%d", i+1)), programs: map[string]heddle.Program{}}
	four, six := netip.MustParseAddr(fmt.Sprintf("192.0.2.1%d", i)), netip.MustParseAddr(fmt.Sprintf("2001:db8::1%d", i))
	h.underlays = []netip.Addr{four, six}
	h.Record = heddle.Host{Name: h.Name, ID: "id of " + h.Name, MTU: mtu, PrivilegedPorts: true, Underlay: []netip.Addr{six}}
	if f == heddle.IPv4 {
		h.Record.Underlay = []netip.Addr{four, six}
	}
	c.LAN.Sh(t, `ip link add port%d mtu %d type veth peer name eth0 mtu %[2]d netns %[3]s
		ip link set port%[1]d master br0 up`, i, mtu, h.Name)
	h.Sh(t, `ip link set lo up; ip link set eth0 up; ip address add %s/24 dev eth0; ip route add default via %s`, four, LAN4)
	world.Soon(t, h.Name+" is on the underlay", func() error { return h.Ping(LAN4, "-W1") })
	if mtu >= heddle.IPv6.LeastMTU() {
		h.Sh(t, "ip address add %s/64 dev eth0 nodad; ip -6 route add default via %s", six, LAN6)
		world.Soon(t, h.Name+" is on the underlay", func() error { return h.Ping(LAN6, "-W1") })
	}
	err := h.Do(func() (err error) {
		h.kernel, err = kernel.Open()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.kernel.Close() })
	return h
}

// Network gives both hosts a network. Each host has a block of each subnet; the second host also
// has an address of the first host's block.
func (c *Cluster) Network(t testing.TB, number int, change func(*heddle.Network)) heddle.Network {
	t.Helper()
	n := heddle.Network{ID: fmt.Sprintf("%016x", number), Name: fmt.Sprintf("net%d", number), Mode: "overlay",
		Subnets:  []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.2%d.0.0/24", number)), netip.MustParsePrefix(fmt.Sprintf("fd2%d::/64", number))},
		Gateways: []netip.Addr{netip.MustParseAddr(fmt.Sprintf("10.2%d.0.1", number)), netip.MustParseAddr(fmt.Sprintf("fd2%d::1", number))}}
	if change != nil {
		change(&n)
	}
	c.networks = append(c.networks, n)
	for i, h := range c.Hosts {
		f := h.facts.Fabric
		f.Networks = c.networks
		for _, s := range n.Subnets {
			for k, block := range blocks(s) {
				f.Blocks = append(f.Blocks, heddle.Block{Network: n.ID, Prefix: block, Host: c.Hosts[k].Record.ID})
			}
			if c.third != nil {
				f.Blocks = append(f.Blocks, heddle.Block{Network: n.ID, Prefix: heddle.BlockOf(s, ThirdAddr(s)), Host: c.third.ID})
			}
			f.Sources = append(f.Sources, heddle.Pin{Network: n.ID, Addr: Source(s, i), Host: h.Record.ID})
			f.Pins = append(f.Pins, heddle.Pin{Network: n.ID, Addr: Lent(s), Host: c.Hosts[1].Record.ID})
		}
	}
	c.Plan(t)
	return n
}

// blocks are the hosts' blocks of a subnet.
func blocks(s netip.Prefix) [2]netip.Prefix {
	first := heddle.BlockOf(s, s.Masked().Addr())
	return [2]netip.Prefix{first, heddle.BlockOf(s, heddle.LastAddr(first).Next())}
}

// Source returns the address that a host reserves for itself.
func Source(s netip.Prefix, host int) netip.Addr {
	return heddle.LastAddr(blocks(s)[host]).Prev()
}

// Lent returns the address of the first host's block that the second host has.
func Lent(s netip.Prefix) netip.Addr { return heddle.LastAddr(blocks(s)[0]).Prev().Prev() }

// ThirdAddr is an address in the third host's block.
func ThirdAddr(s netip.Prefix) netip.Addr { return heddle.LastAddr(blocks(s)[1]).Next().Next() }

// Addr is a host's i-th address for containers.
func Addr(s netip.Prefix, host, i int) netip.Addr {
	a := blocks(s)[host].Addr().Next()
	for range i + 1 {
		a = a.Next()
	}
	return a
}

// Plan applies the plans of all networks on both hosts.
func (c *Cluster) Plan(t testing.TB) {
	t.Helper()
	for _, h := range c.Hosts {
		h.Apply(t, overlay.Mode{}.Reach(h.facts), nil)
		for _, n := range c.networks {
			if err := (overlay.Mode{}).Check(h.facts, n); err != nil {
				t.Fatal(err)
			}
			p, err := overlay.Mode{}.Network(h.facts, n)
			if err != nil {
				t.Fatal(err)
			}
			h.Apply(t, p, nil)
		}
	}
}

// Apply applies a plan on the host.
func (h *Host) Apply(t testing.TB, p heddle.Plan, pod *kernel.Netns) {
	t.Helper()
	err := h.Do(func() error {
		_, err := h.kernel.Apply(p, pod)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", h.Name, err)
	}
	for _, x := range p.Host.Programs {
		h.programs[x.Link] = x
	}
}

// Drops counts what the host dropped, by reason.
func (h *Host) Drops(t testing.TB) map[string]uint64 {
	t.Helper()
	all, err := h.kernel.Drops()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Tunnel names the host's tunnel device of the family that its peers use.
func (h *Host) Tunnel() string {
	return h.facts.Fabric.TunnelName(heddle.FamilyOf(h.Record.Underlay[0]))
}

// Outer is the address of the host's tunnel.
func (h *Host) Outer() netip.Addr { return h.Record.Underlay[0] }

// Pod is a container on a host.
type Pod struct {
	world.Netns
	Host     *Host
	Endpoint heddle.Endpoint
}

// Pod makes a container with an address of each of the network's subnets.
func (c *Cluster) Pod(t testing.TB, name string, host int, n heddle.Network, addrs func(netip.Prefix) netip.Addr, ports ...heddle.PortMapping) *Pod {
	t.Helper()
	p := &Pod{Netns: world.NewNetns(t, name), Host: c.Hosts[host]}
	p.plug(t, heddle.Endpoint{ID: heddle.EndpointID{Container: name, IfName: "eth0"}, DefaultRoute: true, Ports: ports}, n, addrs)
	return p
}

// PodOnStack makes a container without the fast path.
func (c *Cluster) PodOnStack(t testing.TB, name string, host int, n heddle.Network, addrs func(netip.Prefix) netip.Addr) *Pod {
	t.Helper()
	p := &Pod{Netns: world.NewNetns(t, name), Host: c.Hosts[host]}
	p.plug(t, heddle.Endpoint{ID: heddle.EndpointID{Container: name, IfName: "eth0"}, DefaultRoute: true, NoFastPath: true}, n, addrs)
	return p
}

// Join gives the container a second interface, eth1, on another network.
func (p *Pod) Join(t testing.TB, n heddle.Network, addrs func(netip.Prefix) netip.Addr) *Pod {
	t.Helper()
	second := &Pod{Netns: p.Netns, Host: p.Host}
	second.plug(t, heddle.Endpoint{ID: heddle.EndpointID{Container: p.Name, IfName: "eth1"}}, n, addrs)
	return second
}

// plug makes an endpoint in the container.
func (p *Pod) plug(t testing.TB, e heddle.Endpoint, n heddle.Network, addrs func(netip.Prefix) netip.Addr) {
	t.Helper()
	h := p.Host
	e.Network, e.NetworkName, e.Netns, e.MAC, e.MTU = n.ID, n.Name, p.Path, e.ID.DefaultMAC(n.ID, 0), overlay.Mode{}.MTU(h.facts, n)
	p.Endpoint = e
	for _, s := range n.Subnets {
		p.Endpoint.Addrs = append(p.Endpoint.Addrs, netip.PrefixFrom(addrs(s), s.Bits()))
	}
	plan, err := overlay.Mode{}.Endpoint(h.facts, n, p.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p.apply(t, plan)
	h.pods = append(h.pods, heddle.Plan{Host: plan.Host})
}

// apply applies a plan on the host and in the container.
func (p *Pod) apply(t testing.TB, plan heddle.Plan) {
	t.Helper()
	pod, err := kernel.OpenNetns(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer pod.Close()
	p.Host.Apply(t, plan, pod)
}

// Addrs are the container's addresses.
func (p *Pod) Addrs() (all []netip.Addr) {
	for _, a := range p.Endpoint.Addrs {
		all = append(all, a.Addr())
	}
	return all
}

// Allow joins two networks on all hosts.
func (c *Cluster) Allow(t testing.TB, a, b heddle.Network) {
	t.Helper()
	for i := range c.networks {
		if c.networks[i].ID == a.ID {
			c.networks[i].Allow = append(c.networks[i].Allow, b.ID)
		}
	}
	c.Plan(t)
}

// Underlays are the host's addresses on the underlay, of both families.
func (h *Host) Underlays() []netip.Addr { return h.underlays }

// Beside makes a container on the underlay's interface, on a network of another mode.
func (c *Cluster) Beside(t testing.TB, name string, host int, m heddle.Mode, options map[string]string) *Pod {
	t.Helper()
	h := c.Hosts[host]
	p := &Pod{Netns: world.NewNetns(t, name), Host: h}
	facts, err := h.kernel.Facts()
	if err != nil {
		t.Fatal(err)
	}
	facts.Fabric = h.facts.Fabric
	n := heddle.Network{ID: "00000000000000ff", Name: "beside", Mode: m.Name(), Parent: "eth0", Options: options,
		Subnets: []netip.Prefix{netip.PrefixFrom(LAN4, 24).Masked(), netip.PrefixFrom(LAN6, 64).Masked()}, Gateways: []netip.Addr{LAN4, LAN6}}
	p.Endpoint = heddle.Endpoint{ID: heddle.EndpointID{Container: name, IfName: "eth0"}, DefaultRoute: true, Network: n.ID, NetworkName: n.Name,
		Netns: p.Path, MTU: UnderlayMTU, Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.200/24"), netip.MustParsePrefix("2001:db8::200/64")}}
	p.Endpoint.MAC = p.Endpoint.ID.DefaultMAC(n.ID, 0)
	shared, err := m.Network(facts, n)
	if err != nil {
		t.Fatal(err)
	}
	h.Apply(t, shared, nil)
	own, err := m.Endpoint(facts, n, p.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p.apply(t, own)
	return p
}
