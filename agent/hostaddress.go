package agent

import (
	"net"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// checkHostIP refuses addresses on which no port can be published: they do not belong to exactly
// one host.
func checkHostIP(id heddle.EndpointID, p heddle.PortMapping) error {
	bad := func(why, remedy string) error {
		return heddle.Errorf(heddle.BadPort, "publish port", p.String()+" of endpoint "+id.String(), why, remedy)
	}
	const onHost = "publish on an address of the host"
	this := netip.PrefixFrom(netip.IPv4Unspecified(), 8) // "this network" (RFC 6890, 2.2.2)
	switch a := p.HostIP; {
	case !a.IsValid() || a.IsUnspecified():
		return nil
	case a == netip.IPv6Loopback():
		return bad("the kernel lets no packet of [::1] reach a container",
			"publish on 127.0.0.1 or on an address of the host")
	case a.Is4In6():
		return bad("it is an IPv4 address in the form of an IPv6 address", "write "+a.Unmap().String())
	case a.IsMulticast():
		return bad(a.String()+" is a multicast group's address", onHost)
	case a == heddle.LastAddr(heddle.FamilyOf(a).Any()) || isBroadcast(a):
		return bad(a.String()+" is a broadcast address", onHost)
	case this.Contains(a):
		return bad("no host has an address of 0.0.0.0/8", onHost+", or name none: that means all of them")
	case a.Is6() && a.IsLinkLocalUnicast(), a.Zone() != "":
		return bad("a link-local address means another host on each link", "publish on another address of the host")
	}
	return nil
}

// isBroadcast reports whether an address is the broadcast address of a subnet of the host
// (RFC 919).
func isBroadcast(a netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	if err != nil || !a.Is4() {
		return false
	}
	for _, o := range own {
		p, err := netip.ParsePrefix(o.String())
		if err == nil && p.Addr().Is4() && p.Bits() < 31 && heddle.LastAddr(p) == a {
			return true
		}
	}
	return false
}
