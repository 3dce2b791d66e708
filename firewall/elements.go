package firewall

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// NetworkElements add the network's chains to the host's verdict maps.
func NetworkElements(n heddle.Network) []heddle.Element {
	group := fmt.Sprintf("%#x", n.Group())
	var all []heddle.Element
	for _, m := range []string{"from", "to", "masq"} {
		all = append(all, heddle.Element{Family: "inet", Set: m, Match: []string{group}, Value: []string{"jump " + n.ChainName(m)}})
	}
	return append(all, Gates(n, n.Gateways...)...)
}

// Gates lets only the network's containers call addresses of the host.
func Gates(n heddle.Network, of ...netip.Addr) []heddle.Element {
	var all []heddle.Element
	for _, a := range of {
		all = append(all, heddle.Element{Family: "inet", Set: "gate" + heddle.FamilyOf(a).Digit(), Match: []string{a.String()}, Value: []string{"jump " + n.ChainName("gate")}})
	}
	return all
}

// Allowed lets traffic pass between the network and the networks that it names, both ways.
func Allowed(n heddle.Network) []heddle.Element {
	var all []heddle.Element
	for _, id := range n.Allow {
		here, there := fmt.Sprintf("%#x", n.Group()), fmt.Sprintf("%#x", heddle.Network{ID: id}.Group())
		all = append(all, heddle.Element{Family: "inet", Set: "allowed", Match: []string{here, there}},
			heddle.Element{Family: "inet", Set: "allowed", Match: []string{there, here}})
	}
	return all
}

// Publish maps the endpoint's published ports to its addresses, and keeps connections that leave
// the host from using these ports.
func Publish(e heddle.Endpoint) []heddle.Element {
	all := takenPorts(e.Ports)
	for _, p := range e.Ports {
		for _, a := range e.Addrs {
			ip := a.Addr()
			if p.HostIP.IsValid() && heddle.FamilyOf(p.HostIP) != heddle.FamilyOf(ip) {
				continue
			}
			version := heddle.FamilyOf(ip).Digit()
			el := heddle.Element{Family: "inet", Value: []string{ip.String(), fmt.Sprint(p.ContainerPort)}}
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

// AsksHost map what the container asks the host's name servers to the network's own gateway, at which
// the resolver answers. Only the container's own addresses count, which the guards keep true.
func AsksHost(n heddle.Network, e heddle.Endpoint) []heddle.Element {
	group := fmt.Sprintf("%#x", n.Group())
	var all []heddle.Element
	for _, server := range e.NameServers {
		for _, p := range e.Addrs {
			gw, ok := n.GatewayFor(p.Addr())
			if ok && heddle.FamilyOf(p.Addr()).Has(server) {
				all = append(all, heddle.Element{Family: "inet", Set: "asks" + heddle.FamilyOf(server).Digit(),
					Match: []string{group, p.Addr().String(), server.String()}, Value: []string{gw.String()}})
			}
		}
	}
	return all
}

// IsAskHost reports whether an element is one of those.
func IsAskHost(e heddle.Element) bool { return e.Set == "asks4" || e.Set == "asks6" }

// BridgeGuard lists what the endpoint may send from its port of a bridge: its own MAC address and
// IP addresses, including the link-local one.
func BridgeGuard(e heddle.Endpoint) []heddle.Element {
	port := e.ID.PortName()
	all := []heddle.Element{{Family: "bridge", Set: "macs", Match: []string{port, string(e.MAC)}}}
	for _, a := range e.Sources() {
		all = append(all, heddle.Element{Family: "bridge", Set: "addrs" + heddle.FamilyOf(a).Digit(), Match: []string{port, a.String()}})
	}
	return append(all, quotes("bridge", port, e.Sources())...)
}

// The sets of the addresses that ICMP errors from a port may be about.
const SetQuoted4, SetQuoted6 = "quoted4", "quoted6"

// ErrorGuard lets ICMP errors come by a device of the host if they are about packets
// that were sent to the endpoint.
func ErrorGuard(device string, e heddle.Endpoint) []heddle.Element {
	return quotes("inet", device, e.Sources())
}

func quotes(family, device string, sources []netip.Addr) []heddle.Element {
	var all []heddle.Element
	for _, a := range sources {
		all = append(all, heddle.Element{Family: family, Set: "quoted" + heddle.FamilyOf(a).Digit(), Match: []string{device, a.String()}})
	}
	return all
}

// Asks lets a container on a LAN ask the host's resolver by the device that the host has beside it.
func Asks(device string, source heddle.MAC, a netip.Addr) heddle.Element {
	return heddle.Element{Family: "inet", Set: "sends" + heddle.FamilyOf(a).Digit(), Match: []string{device, string(source), a.String()}}
}

// RoutedGuard lists the same for a routed port, with MAC address and IP address together, and the
// host's port for each address.
func RoutedGuard(n heddle.Network, e heddle.Endpoint) []heddle.Element {
	port := e.ID.PortName()
	all := []heddle.Element{{Family: "inet", Set: "macs", Match: []string{port, string(e.MAC)}}}
	for _, a := range e.Sources() {
		all = append(all, heddle.Element{Family: "inet", Set: "sends" + heddle.FamilyOf(a).Digit(), Match: []string{port, string(e.MAC), a.String()}})
	}
	all = append(all, ErrorGuard(port, e)...)
	for _, a := range e.Addrs {
		all = append(all, heddle.Element{Family: "inet", Set: "near" + heddle.FamilyOf(a.Addr()).Digit(), Match: []string{a.Addr().String()}, Value: []string{"jump " + n.ChainName("near")}})
	}
	return all
}
