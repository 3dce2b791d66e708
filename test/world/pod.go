package world

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// NetworkOption changes a network before it is created.
type NetworkOption func(*heddle.Network)

// Internal makes the network internal.
func Internal(n *heddle.Network) { n.Internal = true }

// OnlyV4 makes the network without an IPv6 subnet.
func OnlyV4(n *heddle.Network) { n.Subnets = n.Subnets[:1] }

// With sets an option of the mode, written K=V.
func With(option string) NetworkOption {
	return func(n *heddle.Network) {
		if n.Options == nil {
			n.Options = map[string]string{}
		}
		key, value, _ := strings.Cut(option, "=")
		n.Options[key] = value
	}
}

// Network creates a network with subnets of its own, 10.x.0.0/16 and fdxx::/64.
func (w *World) Network(t testing.TB, name, mode string, options ...NetworkOption) heddle.Network {
	t.Helper()
	n, _, err := w.CreateNetwork(w.Plan(name, mode, options...), false)
	if err != nil {
		t.Fatalf("create network %s: %v", name, err)
	}
	return n
}

// Plan is Network without creating it.
func (w *World) Plan(name, mode string, options ...NetworkOption) heddle.Network {
	w.subnets++
	i := 19 + w.subnets
	n := heddle.Network{Name: name, Mode: mode, Subnets: []netip.Prefix{
		netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/16", i)), netip.MustParsePrefix(fmt.Sprintf("fd%d::/64", i))}}
	for _, change := range options {
		change(&n)
	}
	return n
}

// PodOption changes an attach request.
type PodOption func(*heddle.AttachRequest)

// Publish adds a port mapping, written [IP@]HOST:CONTAINER/PROTOCOL.
func Publish(text string) PodOption {
	return func(r *heddle.AttachRequest) { r.Ports = append(r.Ports, Mapping(text)) }
}

// Mapping reads a port mapping, written [IP@]HOST[-END]:CONTAINER/PROTOCOL.
func Mapping(text string) heddle.PortMapping {
	var m heddle.PortMapping
	if ip, rest, found := strings.Cut(text, "@"); found {
		m.HostIP, text = netip.MustParseAddr(ip), rest
	}
	ports, protocol, _ := strings.Cut(text, "/")
	host, container, _ := strings.Cut(ports, ":")
	host, end, _ := strings.Cut(host, "-")
	m.HostPort, m.HostPortEnd, m.ContainerPort, m.Protocol = port(host), port(end), port(container), protocol
	return m
}

func port(s string) uint16 {
	n, _ := strconv.ParseUint(s, 10, 16)
	return uint16(n)
}

// IP asks for an address.
func IP(s string) PodOption {
	return func(r *heddle.AttachRequest) { r.IPs = append(r.IPs, netip.MustParseAddr(s)) }
}

// MAC asks for a MAC address.
func MAC(s string) PodOption { return func(r *heddle.AttachRequest) { r.MAC = heddle.MAC(s) } }

// As names the interface in the container, eth0 otherwise.
func As(ifname string) PodOption { return func(r *heddle.AttachRequest) { r.ID.IfName = ifname } }

// Pod is a container: a namespace with an endpoint.
type Pod struct {
	Netns
	Endpoint heddle.Endpoint
	w        *World
}

// Pod makes a container on a network for the length of the test.
func (w *World) Pod(t testing.TB, name, network string, options ...PodOption) *Pod {
	t.Helper()
	p := &Pod{Netns: NewNetns(t, name), w: w}
	p.Join(t, network, options...)
	return p
}

// Request returns the request that attaches a container to a network.
func (w *World) Request(in Netns, network string, options ...PodOption) heddle.AttachRequest {
	r := heddle.AttachRequest{Network: network, ID: heddle.EndpointID{Container: in.Name, IfName: "eth0"}, Netns: in.Path}
	for _, change := range options {
		change(&r)
	}
	return r
}

// Join attaches the container to a network, the first or a further one.
func (p *Pod) Join(t testing.TB, network string, options ...PodOption) heddle.Endpoint {
	t.Helper()
	reply, err := p.w.Attach(context.Background(), p.w.Request(p.Netns, network, options...))
	if err != nil {
		t.Fatalf("attach %s to %s: %v", p.Name, network, err)
	}
	if p.Endpoint.MAC == "" {
		p.Endpoint = reply.Endpoint
	}
	t.Cleanup(func() { p.leave(t, reply.Endpoint.ID) })
	return reply.Endpoint
}

// Leave detaches the container's first endpoint.
func (p *Pod) Leave(t testing.TB) {
	t.Helper()
	p.leave(t, p.Endpoint.ID)
	p.Endpoint = heddle.Endpoint{}
}

func (p *Pod) leave(t testing.TB, id heddle.EndpointID) {
	t.Helper()
	if _, err := p.w.Detach(context.Background(), id); err != nil {
		t.Errorf("detach %s: %v", id, err)
	}
}

// Addrs are the container's addresses on its first network.
func (p *Pod) Addrs() []netip.Addr {
	var all []netip.Addr
	for _, a := range p.Endpoint.Addrs {
		all = append(all, a.Addr())
	}
	return all
}

// Addr returns the container's address of the family of like.
func (p *Pod) Addr(like netip.Addr) netip.Addr {
	for _, a := range p.Addrs() {
		if heddle.FamilyOf(a) == heddle.FamilyOf(like) {
			return a
		}
	}
	return netip.Addr{}
}

// V4 is the IPv4 address.
func (p *Pod) V4() netip.Addr { return p.Addr(Host4) }

// V6 is the IPv6 address.
func (p *Pod) V6() netip.Addr { return p.Addr(Host6) }

// Port is the host's end of the link.
func (p *Pod) Port() string { return p.Endpoint.ID.PortName() }

// PodIn is Pod in an existing namespace.
func (w *World) PodIn(t testing.TB, ns Netns, network string, options ...PodOption) *Pod {
	t.Helper()
	p := &Pod{Netns: ns, w: w}
	p.Join(t, network, options...)
	return p
}
