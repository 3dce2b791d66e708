package firewall

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// PeeringChains are the chains of a network that is another VPC's, to which a link leads. Packets from there have sources in its subnets,
// and come to networks that are allowed to talk with it; so do packets that go there.
func PeeringChains(n heddle.Network, subnets []netip.Prefix) []heddle.Firewall {
	var rules []string
	for _, p := range subnets {
		rules = append(rules, heddle.FamilyOf(p.Addr()).Word()+" saddr "+p.String()+" goto guard")
	}
	only := []string{"iifgroup . oifgroup @allowed accept", Drop("isolated")}
	return []heddle.Firewall{
		chain("inet", n.ChainName("door"), "", append(rules, Drop("spoofed-ip"))...),
		chain("inet", n.ChainName("from"), "", only...),
		chain("inet", n.ChainName("to"), "", only...),
	}
}

// PeeringElements add these chains to the host's verdict maps.
func PeeringElements(n heddle.Network) []heddle.Element {
	group := fmt.Sprintf("%#x", n.Group())
	return append(Allowed(n),
		heddle.Element{Family: "inet", Set: "doors", Match: []string{group}, Value: []string{"goto " + n.ChainName("door")}},
		heddle.Element{Family: "inet", Set: "from", Match: []string{group}, Value: []string{"jump " + n.ChainName("from")}},
		heddle.Element{Family: "inet", Set: "to", Match: []string{group}, Value: []string{"jump " + n.ChainName("to")}})
}
