package gateway

import (
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// OfHost is the mode of the host's agent: a network that is a VPC. It is guarded, isolated and hidden as a network of mode bridge is whose one
// container has the VPC's address on the link.
type OfHost struct{ half }

var hostOptions = []heddle.ModeOption{{Name: OptionVPC, Values: "VPC", Text: "the VPC"}}

// About describes the mode.
func (OfHost) About() heddle.About {
	return heddle.About{Summary: "a VPC of this host, which leaves by a link to it", Options: hostOptions}
}

// NeedsSubnet is true: the link needs a subnet of its own.
func (OfHost) NeedsSubnet() bool { return true }

// OwnRange is the address space that carriers share between their translators and their customers' (RFC 6598).
func (OfHost) OwnRange() (four netip.Prefix, bits4, bits6 int) {
	return netip.MustParsePrefix("100.64.0.0/10"), 30, 126
}

// Check refuses what names no VPC.
func (m OfHost) Check(_ heddle.HostFacts, n heddle.Network) error {
	if err := m.check(n, hostOptions); err != nil {
		return err
	}
	return heddle.CheckVPCName(n.Options[OptionVPC])
}

// Network plans the link with the host's end, and what may come from there.
func (OfHost) Network(h heddle.HostFacts, n heddle.Network) (heddle.Plan, error) {
	vpc := n.Options[OptionVPC]
	name, mac, far := heddle.GatewayLink(vpc)
	s := end(h, n, heddle.Link{Name: name, MAC: mac, Peer: name, PeerNetns: heddle.VPCNetns(vpc)}, far, false)
	chains, elements := firewall.VPCOfHost(n, name, far, insides(n))
	s.Firewall, s.Elements = append(firewall.Base(), chains...), append(s.Elements, elements...)
	return heddle.Plan{Host: s}, nil
}
