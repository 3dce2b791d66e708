package firewall

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/heddle-network/heddle"
)

// The rules of the link between a VPC and its host. On the host the VPC is a network with one container, which has the VPC's address on the link. So its
// guard, its isolation and its masquerading are those of a routed port. In the VPC the host is a network that nobody comes from.

// notBeyond are destinations to which no VPC sends by its host, in sets of IPv4 and IPv6: what means a host or its link, and what is no unicast (RFC 6890), and the
// addresses at which clouds give a host its credentials that are none of these: Alibaba Cloud's, EC2's, Google Cloud's and Azure's.
var notBeyond = map[heddle.Family]string{
	heddle.IPv4: "{ 0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 224.0.0.0/3, 100.100.100.200, 168.63.129.16 }",
	heddle.IPv6: "{ ::/96, ::ffff:0:0/96, fe80::/10, ff00::/8, fd00:100::100:200, fd00:ec2::254, fd20:ce::254 }",
}

// VPCOfHost is what the host has in the firewall for a VPC that leaves by it: by a link, whose other end has these addresses.
func VPCOfHost(n heddle.Network, link string, far heddle.MAC, inside []netip.Addr) ([]heddle.Firewall, []heddle.Element) {
	group := fmt.Sprintf("%#x", n.Group())
	var door []string
	elements := append(NetworkElements(n),
		heddle.Element{Family: "inet", Set: "doors", Match: []string{group}, Value: []string{"goto " + n.ChainName("door")}},
		heddle.Element{Family: "inet", Set: "macs", Match: []string{link, string(far)}})
	for _, a := range inside {
		f := heddle.FamilyOf(a)
		door = append(door, f.Word()+" daddr "+notBeyond[f]+" "+Drop("isolated"))
		elements = append(elements, heddle.Element{Family: "inet", Set: "sends" + f.Digit(), Match: []string{link, string(far), a.String()}})
	}
	chains := append(NetworkChains(n, true), chain("inet", n.ChainName("door"), "", append(door, "jump guard-port", "goto guard")...))
	return chains, append(elements, quotes("inet", link, inside)...)
}

// HostOfVPC is what a VPC has in the firewall for its way out by the host. Inside are its addresses on the link, behind which all of it hides, networks that
// do without masquerading among them: the host takes no others. From there come answers alone, and peers do not go there.
func HostOfVPC(n heddle.Network, inside []netip.Addr) ([]heddle.Firewall, []heddle.Element) {
	group := fmt.Sprintf("%#x", n.Group())
	elements := append(Gates(n, inside...), heddle.Element{Family: "inet", Set: "doors", Match: []string{group}, Value: []string{"goto guard"}})
	for _, m := range []string{"from", "to", "masq"} {
		elements = append(elements, heddle.Element{Family: "inet", Set: m, Match: []string{group}, Value: []string{"jump " + n.ChainName(m)}})
	}
	return []heddle.Firewall{
		chain("inet", n.ChainName("gate"), "", `iifname "lo" return`, "ct state established,related return", Drop("isolated")),
		// networks take related packets, which are ICMP errors, from no container: it could forge them. These are the host's, or of routers beyond it
		chain("inet", n.ChainName("from"), "", "ct state established return", "ct state related accept", Drop("isolated")),
		chain("inet", n.ChainName("to"), "", `iifname { "`+strings.Join([]string{heddle.PrefixPeering, heddle.PrefixGateway}, `*", "`)+`*" } `+Drop("isolated")),
		chain("inet", n.ChainName("masq"), "", "oifgroup "+group+" "+masquerade),
	}, elements
}
