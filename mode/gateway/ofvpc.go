package gateway

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// OfVPC is the mode of a VPC's agent: a network that is all to which the host leads. The VPC's routes with next hop host go by it.
type OfVPC struct {
	half
	// VPC is its name.
	VPC string
}

// About describes the mode.
func (OfVPC) About() heddle.About {
	return heddle.About{Summary: "the way out by the host, to which a link leads"}
}

// Check refuses a way out without a subnet: it is the host's network's.
func (m OfVPC) Check(_ heddle.HostFacts, n heddle.Network) error { return m.check(n, nil) }

// Network plans the VPC's end of the link, behind whose addresses the VPC hides.
func (m OfVPC) Network(h heddle.HostFacts, n heddle.Network) (heddle.Plan, error) {
	name, far, mac := heddle.GatewayLink(m.VPC)
	s := end(h, n, heddle.Link{Name: name, MAC: mac, MadeElsewhere: true}, far, true)
	chains, elements := firewall.HostOfVPC(n, insides(n))
	s.Firewall, s.Elements = append(firewall.Base(), chains...), append(s.Elements, elements...)
	if n.HasFamily(heddle.IPv4) {
		// a router on the way that tells of a packet (RFC 1812, 4.3.2) may be where no route leads
		s.Sysctls = append(s.Sysctls, heddle.Sysctl{Name: "net/ipv4/conf/" + name + "/rp_filter", Value: "0"})
	}
	return heddle.Plan{Host: s}, nil
}
