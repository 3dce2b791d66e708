package heddle

import (
	"fmt"
	"net/netip"
)

// Parts that the plans of several modes have in common.

// DefaultMTU is used on a host that has no interface to stand on.
const DefaultMTU = 1500

// ResolveMTU returns the network's MTU in bytes: the one asked for, else the
// one of the interface that the network stands on.
func ResolveMTU(h HostFacts, n Network) int {
	if n.MTU != 0 {
		return n.MTU
	}
	if up, ok := h.Uplink(n); ok && up.MTU > 0 {
		return up.MTU
	}
	return DefaultMTU
}

// CheckMTU refuses an MTU that the network's families or its parent cannot
// carry (RFC 791: 576 as every host's minimum; RFC 8200: 1280 for IPv6).
func CheckMTU(h HostFacts, n Network) error {
	least := IPv4.LeastMTU()
	if n.HasFamily(IPv6) {
		least = IPv6.LeastMTU()
	}
	if n.MTU != 0 && (n.MTU < least || n.MTU > 65535) {
		return Errorf(BadMTU, "network", fmt.Sprintf("%s with MTU %d", n.Name, n.MTU), fmt.Sprintf("give a value from %d to 65535, or leave it out to take the parent's", least))
	}
	if up, ok := h.Uplink(n); ok && up.MTU > 0 && n.MTU > up.MTU {
		return Errorf(BadMTU, "network", fmt.Sprintf("%s with MTU %d", n.Name, n.MTU), fmt.Sprintf("its parent %s carries %d; leave --mtu out to take that", up.Name, up.MTU))
	}
	return nil
}

// CheckParent refuses a parent that the host does not have.
func CheckParent(h HostFacts, n Network) error {
	if n.Parent == "" {
		return nil
	}
	if _, ok := h.Link(n.Parent); !ok {
		return Errorf(NoParent, "network "+n.Name+" on interface", Clip(n.Parent), "name an interface that 'ip link' lists")
	}
	return nil
}

// Forwarding turns on the host's forwarding for the network's families. An
// interface with a default route from a router advertisement keeps listening
// (accept_ra 2), since forwarding would otherwise make the kernel forget it.
func Forwarding(h HostFacts, n Network) []Sysctl {
	var all []Sysctl
	if n.HasFamily(IPv4) {
		all = append(all, Sysctl{"net/ipv4/ip_forward", "1"})
	}
	if n.HasFamily(IPv6) {
		for _, l := range h.Links {
			if l.Advertised {
				all = append(all, Sysctl{"net/ipv6/conf/" + l.Name + "/accept_ra", "2"})
			}
		}
		all = append(all, Sysctl{"net/ipv6/conf/all/forwarding", "1"})
	}
	return all
}

// Floor makes the network's unused addresses unreachable, at the worst metric:
// otherwise a packet to an address that nobody has would leave by the host's
// default route, masqueraded and in clear.
func Floor(n Network) []Route {
	var all []Route
	for _, s := range n.Subnets {
		all = append(all, Route{Dst: s, Type: "unreachable", Metric: 4294967295})
	}
	return all
}

// Doorways hang the network's chains into the host's verdict maps.
func Doorways(n Network) []Element {
	group := fmt.Sprintf("%#x", n.Group())
	var all []Element
	for _, m := range []string{"from", "to", "masq"} {
		all = append(all, Element{"inet", m, []string{group}, []string{"jump " + n.ChainName(m)}})
	}
	for _, g := range n.Gateways {
		all = append(all, Element{"inet", "gate" + FamilyOf(g).Digit(), []string{g.String()}, []string{"jump " + n.ChainName("gate")}})
	}
	return all
}

// Allowed lets traffic pass between the network and those it names, both ways.
func Allowed(n Network) []Element {
	var all []Element
	for _, id := range n.Allow {
		here, there := fmt.Sprintf("%#x", n.Group()), fmt.Sprintf("%#x", Network{ID: id}.Group())
		all = append(all, Element{Family: "inet", Set: "allowed", Match: []string{here, there}},
			Element{Family: "inet", Set: "allowed", Match: []string{there, here}})
	}
	return all
}

// Publish maps the endpoint's published ports to its addresses, and keeps them from
// connections that leave the host.
func Publish(e Endpoint) []Element {
	all := takenPorts(e.Ports)
	for _, p := range e.Ports {
		for _, a := range e.Addrs {
			ip := a.Addr()
			if p.HostIP.IsValid() && FamilyOf(p.HostIP) != FamilyOf(ip) {
				continue
			}
			version := FamilyOf(ip).Digit()
			el := Element{Family: "inet", Value: []string{ip.String(), fmt.Sprint(p.ContainerPort)}}
			if p.HostIP.IsValid() && !p.HostIP.IsUnspecified() {
				el.Set, el.Match = "ports"+version, []string{p.HostIP.String(), p.Protocol, fmt.Sprint(p.HostPort)}
			} else {
				el.Set, el.Match = "any"+version, []string{p.Protocol, fmt.Sprint(p.HostPort)}
			}
			all = append(all, el)
		}
	}
	return all
}

// BridgeGuard lists what the endpoint may send from its port of a bridge: its own
// MAC and addresses, the link-local one included.
func BridgeGuard(e Endpoint) []Element {
	port := e.ID.PortName()
	all := []Element{{Family: "bridge", Set: "macs", Match: []string{port, string(e.MAC)}}}
	for _, a := range e.Sources() {
		all = append(all, Element{Family: "bridge", Set: "addrs" + FamilyOf(a).Digit(), Match: []string{port, a.String()}})
	}
	return append(all, quotes("bridge", port, e.Sources())...)
}

// The sets of the addresses that ICMP errors from a port may be about.
const SetQuoted4, SetQuoted6 = "quoted4", "quoted6"

// ErrorGuard lets ICMP errors come by a device of the host if they are about packets
// that were sent to the endpoint.
func ErrorGuard(device string, e Endpoint) []Element { return quotes("inet", device, e.Sources()) }

func quotes(family, device string, sources []netip.Addr) []Element {
	var all []Element
	for _, a := range sources {
		all = append(all, Element{Family: family, Set: "quoted" + FamilyOf(a).Digit(), Match: []string{device, a.String()}})
	}
	return all
}

// RoutedGuard lists the same for a port that is routed, MAC and address together,
// and where its addresses are.
func RoutedGuard(n Network, e Endpoint) []Element {
	port := e.ID.PortName()
	all := []Element{{Family: "inet", Set: "macs", Match: []string{port, string(e.MAC)}}}
	for _, a := range e.Sources() {
		all = append(all, Element{Family: "inet", Set: "sends" + FamilyOf(a).Digit(), Match: []string{port, string(e.MAC), a.String()}})
	}
	all = append(all, ErrorGuard(port, e)...)
	for _, a := range e.Addrs {
		all = append(all, Element{Family: "inet", Set: "near" + FamilyOf(a.Addr()).Digit(), Match: []string{a.Addr().String()}, Value: []string{"jump " + n.ChainName("near")}})
	}
	return all
}

// Sources are all addresses of the endpoint, its IPv6 link-local one last.
func (e Endpoint) Sources() []netip.Addr {
	var all []netip.Addr
	v6 := false
	for _, a := range e.Addrs {
		all = append(all, a.Addr())
		v6 = v6 || a.Addr().Is6()
	}
	if v6 {
		all = append(all, e.MAC.LinkLocal())
	}
	return all
}

// PodBasics is what every container's end has: the loopback up, no IPv6 but
// the addresses given (none at all on an IPv4 network), no listening to router
// advertisements.
func PodBasics(n Network, e Endpoint, link Link) State {
	conf := "net/ipv6/conf/" + e.Interface() + "/"
	s := State{Links: []Link{{Name: "lo"}, link}}
	if n.HasFamily(IPv6) {
		s.Sysctls = []Sysctl{{conf + "accept_ra", "0"}}
		s.Addresses = []Address{{Link: e.Interface(), Prefix: netip.PrefixFrom(e.MAC.LinkLocal(), 64)}}
	} else {
		s.Sysctls = []Sysctl{{conf + "disable_ipv6", "1"}}
	}
	return s
}

// PodOnSubnet is PodBasics with the endpoint's addresses on the network's subnets and,
// if it has the default route, the way out through the network's gateways.
func PodOnSubnet(n Network, e Endpoint, link Link) State {
	s := PodBasics(n, e, link)
	for _, a := range e.Addrs {
		s.Addresses = append(s.Addresses, Address{Link: link.Name, Prefix: a})
		if gw, ok := n.GatewayFor(a.Addr()); ok && e.DefaultRoute && !n.Internal {
			s.Routes = append(s.Routes, Route{Dst: FamilyOf(gw).Any(), Link: link.Name, Via: gw})
		}
	}
	return s
}

// Single is the address as a prefix of full length (/32 or /128).
func Single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// Halves splits a subnet in two. Routes to both halves win over a connected
// route to the whole, without replacing it.
func Halves(p netip.Prefix) [2]netip.Prefix {
	b := p.Masked().Addr().AsSlice()
	low := netip.PrefixFrom(p.Masked().Addr(), p.Bits()+1)
	b[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	high, _ := netip.AddrFromSlice(b)
	return [2]netip.Prefix{low, netip.PrefixFrom(high, p.Bits()+1)}
}

// LastAddr is the last address of a prefix.
func LastAddr(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}
