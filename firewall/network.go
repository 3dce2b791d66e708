package firewall

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// The chains of a network.

// NetworkChains are the network's own chains. They say who may call its gateway, what may leave it,
// what may come in, and which traffic is masqueraded.
func NetworkChains(n heddle.Network, masquerade bool) []heddle.Firewall {
	return networkChains(n, nil, masquerade, false)
}

// networkChains are the chains of a network. With a fabric the network spans hosts, and its tunnels
// have chains of their own (see SpanningChains). An open network can be reached from outside at the
// containers' own addresses.
func networkChains(n heddle.Network, f *heddle.Fabric, masquerade, open bool) []heddle.Firewall {
	group := fmt.Sprintf("%#x", n.Group())
	return []heddle.Firewall{
		chain("inet", n.ChainName("gate"), "", gateRules(n, f, group)...),
		chain("inet", n.ChainName("from"), "", fromRules(n, group)...),
		chain("inet", n.ChainName("to"), "", toRules(n, group, open)...),
		chain("inet", n.ChainName("masq"), "", masqRules(n, f, group, masquerade)...),
	}
}

func gateRules(n heddle.Network, f *heddle.Fabric, group string) []string {
	var rules []string
	if f != nil {
		rules = append(rules, "iifgroup "+tunnelGroup(f)+" ct state established,related accept")
	}
	rules = append(rules, "ct state established,related return")
	if len(n.Gateways) == 0 { // the addresses are on a NIC, which has neighbours
		rules = append(rules, "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } return")
	}
	for _, p := range joined(f, n) {
		rules = append(rules, "iifgroup "+tunnelGroup(f)+" "+heddle.FamilyOf(p.Addr()).Word()+" saddr "+p.String()+" accept")
	}
	return append(rules, `iifname != "lo" iifgroup != `+group+" "+Drop("isolated"))
}

func fromRules(n heddle.Network, group string) []string {
	if !n.Internal {
		if n.Options[OptionEngines] == "true" {
			return nil
		}
		return []string{"jump engines"}
	}
	return []string{"oifgroup != " + group + " iifgroup . oifgroup != @allowed " + Drop("isolated")}
}

func toRules(n heddle.Network, group string, open bool) []string {
	rules := []string{"iifgroup " + group + " accept", "iifgroup . oifgroup @allowed accept"}
	if n.Internal {
		return append(rules, Drop("isolated"))
	}
	rules = append(rules, "ct state established accept", "ct status dnat accept",
		`iifname "`+heddle.PrefixBridge+`*" `+Drop("isolated"),
		`iifname "`+heddle.PrefixPort+`*" `+Drop("isolated"))
	if !open {
		// related packets are ICMP errors, which another container could forge
		rules = append(rules, "ct state related accept", Drop("isolated"))
	}
	return rules
}

// masqRules masquerade packets that are translated on their way from one container of the network
// to another, so that the answers come back to this host. They leave with an address of the host.
// Those to another host are in postroutingRules.
func masqRules(n heddle.Network, f *heddle.Fabric, group string, hide bool) []string {
	var rules []string
	beyond := "oifgroup != " + group // packets that leave the network
	for _, p := range n.Subnets {
		rules = append(rules, heddle.FamilyOf(p.Addr()).Word()+" saddr "+p.String()+" oifgroup "+group+" ct status dnat "+masquerade)
	}
	if f != nil {
		beyond += " oifgroup != " + tunnelGroup(f)
	}
	if hide && !n.Internal {
		rules = append(rules, beyond+" iifgroup . oifgroup != @allowed "+masquerade)
	}
	return rules
}

// RoutedChains are the chains of a network of routed ports on one host. Packets between its
// containers are not tracked.
func RoutedChains(n heddle.Network, masquerade bool) []heddle.Firewall {
	var kin []string
	for _, p := range n.Subnets {
		kin = append(kin, heddle.FamilyOf(p.Addr()).Word()+" daddr vmap @near"+heddle.FamilyOf(p.Addr()).Digit())
	}
	near := chain("inet", n.ChainName("near"), "", fmt.Sprintf("iifgroup %#x notrack accept", n.Group()))
	return append(networkChains(n, nil, masquerade, true), doorChain(n, kin), near, errorsChain(n, n.Gateways))
}

// RoutedElements add a routed network to the host's verdict maps: the chain for packets that
// its ports send, accept for packets between its containers, and the chain for ICMP errors.
func RoutedElements(n heddle.Network) []heddle.Element {
	group := fmt.Sprintf("%#x", n.Group())
	return []heddle.Element{
		{Family: "inet", Set: "doors", Match: []string{group}, Value: []string{"goto " + n.ChainName("door")}},
		{Family: "inet", Set: "ways", Match: []string{group, group}, Value: []string{"accept"}},
		{Family: "inet", Set: "errors", Match: []string{group}, Value: []string{"jump " + n.ChainName("errors")}},
	}
}

// doorChain is the chain for packets from a network's ports. Kin are rules, one for each subnet or
// "", that accept without tracking what stays in the network. Most packets end there, after the one
// lookup of the guard. The other chains, which check more, handle packets of a DHCP server, ICMP,
// and packets without their sender's own addresses.
func doorChain(n heddle.Network, kin []string) heddle.Firewall {
	var short, long []string
	for i, p := range n.Subnets {
		sent := "meta l4proto != icmp @th,0,16 != 67 iifname . ether saddr . ip saddr @sends4 "
		if p.Addr().Is6() {
			sent = "meta l4proto != icmpv6 @th,0,16 != 547 iifname . ether saddr . ip6 saddr @sends6 "
		}
		if kin[i] != "" {
			short, long = append(short, sent+kin[i]), append(long, kin[i])
		}
	}
	long = append(append([]string{"jump guard-port"}, long...), "goto guard")
	return chain("inet", n.ChainName("door"), "", append(short, long...)...)
}

// errorsChain treats the host's ICMP errors about packets between the network's containers like
// those packets. Connection tracking does not know the packets, so it would treat the errors as
// invalid. The addresses are those of the packet that an error quotes (RFC 792, RFC 4443): after 8
// bytes of ICMP, the source at byte 12 or 8 of the IP header, followed by the destination. Own are
// the host's addresses in the network.
func errorsChain(n heddle.Network, own []netip.Addr) heddle.Firewall {
	var rules []string
	for _, p := range n.Subnets {
		from, bits, family := (8+12)*8, 32, "ipv4"
		if p.Addr().Is6() {
			from, bits, family = (8+8)*8, 128, "ipv6"
		}
		rule, to := "meta nfproto "+family+" "+quoted(from, bits, p), from+bits
		for _, a := range own {
			if p.Contains(a) {
				rule += fmt.Sprintf(" @th,%d,%d != 0x%x", to, bits, a.AsSlice())
			}
		}
		rules = append(rules, rule+" "+quoted(to, bits, p)+" notrack")
	}
	return chain("inet", n.ChainName("errors"), "", rules...)
}

// quoted compares the address at an offset in bits, counted from the end of the IP header.
func quoted(at, bits int, p netip.Prefix) string {
	mask := netip.PrefixFrom(heddle.LastAddr(heddle.FamilyOf(p.Addr()).Any()), p.Bits()).Masked().Addr()
	return fmt.Sprintf("@th,%d,%d & 0x%x == 0x%x", at, bits, mask.AsSlice(), p.Masked().Addr().AsSlice())
}
