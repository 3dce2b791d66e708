package agent

import (
	"net"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// checkHostIP refuses addresses on which no port can be published: they do not belong to
// one host, or they mean different hosts to different users.
func checkHostIP(id heddle.EndpointID, p heddle.PortMapping) error {
	bad := func(remedy string) error {
		return heddle.Errorf(heddle.BadPort, "endpoint "+id.String(), p.String(), "", remedy)
	}
	this := netip.PrefixFrom(netip.IPv4Unspecified(), 8) // "this network" (RFC 6890, 2.2.2)
	switch a := p.HostIP; {
	case !a.IsValid() || a.IsUnspecified():
		return nil
	case a == netip.IPv6Loopback():
		return bad("the kernel lets no packet of [::1] reach a container; publish on 127.0.0.1 or on an address of the host")
	case a.Is4In6():
		return bad("write the IPv4 address as such: " + a.Unmap().String())
	case a.IsMulticast():
		return bad("it is a group's address; publish on an address of the host")
	case a == heddle.LastAddr(heddle.FamilyOf(a).Any()) || isBroadcast(a):
		return bad("it is the address of all hosts of a network; publish on an address of this one")
	case this.Contains(a):
		return bad("0.0.0.0/8 is nobody's; publish on an address of the host, or on all of them without any")
	case a.Is6() && a.IsLinkLocalUnicast(), a.Zone() != "":
		return bad("every link has link-local addresses of its own; publish on another address of the host")
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
