package firewall

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// The firewall of networks that span hosts.

// SpanningChains are the chains of a network that spans hosts. Without a fabric they are those of
// one host. Packets between its containers are not tracked on any host; packets from and to a host
// itself are. A host without an address of its own in the network could not get the answers to
// packets that it translates (see masqRules), so it tracks all packets.
func SpanningChains(f *heddle.Fabric, n heddle.Network, masquerade bool) []heddle.Firewall {
	var near []string
	kin := make([]string, len(n.Subnets))
	own := ownAddresses(f, n)
	for i, p := range n.Subnets {
		ip := heddle.FamilyOf(p.Addr()).Word()
		if f != nil {
			if _, ok := f.Source(n.ID, heddle.FamilyOf(p.Addr())); !ok {
				continue
			}
			near = append(near, fmt.Sprintf("iifgroup %s %s saddr %s notrack accept", tunnelGroup(f), ip, p))
		}
		rule := ip + " daddr " + p.String()
		for _, a := range own {
			if p.Contains(a) {
				rule += " " + ip + " daddr != " + a.String()
			}
		}
		kin[i] = rule + " notrack accept"
	}
	all := append(networkChains(n, f, masquerade, false), doorChain(n, kin), chain("inet", n.ChainName("near"), "", near...), errorsChain(n, own))
	if f == nil {
		return all
	}
	out, in := []string{clamp}, []string{clamp}
	for _, p := range joined(f, n) {
		out = append(out, heddle.FamilyOf(p.Addr()).Word()+" daddr "+p.String()+" accept")
		in = append(in, heddle.FamilyOf(p.Addr()).Word()+" saddr "+p.String()+" accept")
	}
	if n.Internal {
		out = append(out, Drop("isolated"))
	} else {
		out = append(out, "goto tunnel-to")
	}
	return append(all,
		chain("inet", n.ChainName("out"), "", out...),
		chain("inet", n.ChainName("in"), "", append(in, "ct state established accept", Drop("isolated"))...))
}

// clamp limits TCP's segments where the host translates. The host cannot tell a sender whose packets
// it translates how large packets on the path may be: its ICMP errors would name addresses that the
// sender does not know.
const clamp = "ct status dnat tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu"

// SpanningElements add these chains to the host's verdict maps.
func SpanningElements(f *heddle.Fabric, n heddle.Network) []heddle.Element {
	all := RoutedElements(n)
	if f == nil {
		return all
	}
	group, tunnel := fmt.Sprintf("%#x", n.Group()), tunnelGroup(f)
	for _, p := range n.Subnets {
		if !n.Internal {
			f := heddle.FamilyOf(p.Addr())
			all = append(all, heddle.Element{Family: "inet", Set: "public" + f.Digit(), Match: []string{f.Any().String(), p.String()}})
		}
	}
	return append(all,
		heddle.Element{Family: "inet", Set: "ways", Match: []string{group, tunnel}, Value: []string{"goto " + n.ChainName("out")}},
		heddle.Element{Family: "inet", Set: "ways", Match: []string{tunnel, group}, Value: []string{"goto " + n.ChainName("in")}})
}

// ownAddresses are the host's addresses in the network: the gateways, and the addresses that it
// keeps for itself.
func ownAddresses(f *heddle.Fabric, n heddle.Network) []netip.Addr {
	own := slices.Clone(n.Gateways)
	if f != nil {
		for _, p := range f.Sources {
			if p.Network == n.ID {
				own = append(own, p.Addr)
			}
		}
	}
	return own
}

func tunnelGroup(f *heddle.Fabric) string { return fmt.Sprintf("%#x", f.TunnelGroup()) }

// joined are the subnets on other hosts that a network's containers may talk with: its own, and
// those of networks that are joined with it, in either direction.
func joined(f *heddle.Fabric, n heddle.Network) []netip.Prefix {
	if f == nil {
		return nil
	}
	all := slices.Clone(n.Subnets)
	for _, other := range f.Networks {
		if slices.Contains(n.Allow, other.ID) || slices.Contains(other.Allow, n.ID) {
			all = append(all, other.Subnets...)
		}
	}
	return all
}
