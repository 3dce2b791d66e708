package firewall

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// The rules of static routes of a VPC, on its bridges. A next hop may send, besides its own, what comes from beyond it: from the prefixes of its
// routes, as long as they are nobody else's. A port that is a next hop is in three verdict maps, which lead to its chains:
//
//	guards:      another source than its own -> @routed -> routed-PORT, sources-PORT
//	guard-error: an error about another's packet -> @quotes -> quotes-PORT
//	prerouting:  what it sends -> @loops -> loops-PORT: back to where it came from is a loop

// The verdict maps of next hops.
const setRouted, setQuotes, setLoops = "routed", "quotes", "loops"

// asksAtMost holds for ARP requests of a next hop with senders from beyond it when it asks too often. What the kernel noted over five seconds
// ago it gives up when its table is full (net/core/neighbour.c, neigh_forced_gc).
const asksAtMost = "limit rate over 5/second burst 20 packets "

// Way is a prefix that decides, where no longer one does, whether an address is beyond a next hop.
type Way struct {
	Prefix netip.Prefix
	Beyond bool
}

// VPCRoutes is the part of the firewall that a VPC with routes needs. Subnets are those of its networks.
func VPCRoutes(subnets []netip.Prefix) []heddle.Firewall {
	all := []heddle.Firewall{{Family: "bridge", Kind: "table"}, {Family: "inet", Kind: "table"}}
	all = append(all, counters("bridge", "route-loop")...)
	all = append(all, counters("inet", "isolated")...)
	all = append(all, sets("bridge", setRouted, setQuotes, setLoops)...)
	// no way by a VPC to what is beyond it: a peer reaches its subnets alone
	var peers []string
	for _, f := range heddle.Families() {
		from := `iifname "` + heddle.PrefixPeering + `*" `
		var own []string
		for _, p := range subnets {
			if f.Has(p.Addr()) {
				own = append(own, p.String())
			}
		}
		if len(own) > 0 {
			from += f.Word() + " daddr != { " + strings.Join(own, ", ") + " } "
		} else {
			from += "meta nfproto " + map[bool]string{true: "ipv4", false: "ipv6"}[f == heddle.IPv4] + " "
		}
		peers = append(peers, from+Drop("isolated"))
	}
	return append(all,
		// after the guard, at -300
		chain("bridge", "vpc-loops", "type filter hook prerouting priority -298; policy accept;", "iifname vmap @"+setLoops),
		chain("inet", "vpc-peers", "type filter hook forward priority filter - 11; policy accept;", peers...),
		// A sender on the next hop's own network is told nothing of it (RFC 1122, 3.2.2.2): it would go on to send there when the route is gone.
		chain("inet", "vpc-redirects", "type filter hook output priority filter - 11; policy accept;", "icmp type redirect drop", "icmpv6 type nd-redirect drop"))
}

// matches are the conditions that an address of a packet is in a prefix: who asks by ARP, the source, the destination, and the destination of the
// packet that an error quotes.
func matches(p netip.Prefix) (ask, from, to, quote string) {
	ip, of, at, bits := "ip", "ether type ip ", 192, 32
	if p.Addr().Is6() {
		ip, of, at, bits = "ip6", "ether type ip6 ", 256, 128
	}
	if p.Bits() == 0 {
		return "ether type arp ", of, of, of
	}
	return "ether type arp arp saddr ip " + p.String() + " ", of + ip + " saddr " + p.String() + " ", of + ip + " daddr " + p.String() + " ", of + quoted(at, bits, p) + " "
}

// NextHop are the chains of a port that is a next hop, and what leads there. Ways are ordered, the longest prefix first.
func NextHop(port string, ways []Way) ([]heddle.Firewall, []heddle.Element) {
	var asks, sources, loops, quotes []string
	for _, w := range ways {
		ask, from, to, quote := matches(w.Prefix)
		asked, sent, looped, told := "return", "return", Drop("route-loop"), "return"
		if !w.Beyond {
			asked, sent, looped, told = Drop("spoofed-arp"), Drop("spoofed-ip"), "return", Drop("spoofed-error")
		}
		if w.Prefix.Addr().Is4() {
			asks = append(asks, ask+asked)
		}
		sources, loops, quotes = append(sources, from+sent), append(loops, to+looped), append(quotes, quote+told)
	}
	chains := []heddle.Firewall{
		// Linux asks for its neighbours with the source of the packet that it wants to send (arp_announce), if that is its own. Who is asked
		// notes each sender, in the one table of all namespaces (neigh/default/gc_thresh3).
		chain("bridge", "sources-"+port, "", slices.Concat([]string{"ether type arp " + asksAtMost + Drop("spoofed-arp")}, asks, []string{"ether type arp " + Drop("spoofed-arp")}, sources, []string{Drop("spoofed-ip")})...),
		// ICMP errors and neighbour discovery come from a next hop's own addresses alone. In a later fragment the kernel would take data for a type.
		chain("bridge", "routed-"+port, "",
			"icmp type "+icmpErrors+" "+Drop("spoofed-error"),
			"meta l4proto icmpv6 frag frag-off != 0 goto sources-"+port,
			"icmpv6 type { echo-request, echo-reply } goto sources-"+port,
			"meta l4proto icmpv6 "+Drop("spoofed-error"),
			"meta l4proto 255 "+Drop("headers"),
			"goto sources-"+port),
		chain("bridge", "quotes-"+port, "", append(quotes, Drop("spoofed-error"))...),
		chain("bridge", "loops-"+port, "", loops...),
	}
	var elements []heddle.Element
	for _, set := range []string{setRouted, setQuotes, setLoops} {
		elements = append(elements, heddle.Element{Family: "bridge", Set: set, Match: []string{port}, Value: []string{fmt.Sprintf("goto %s-%s", set, port)}})
	}
	return chains, elements
}
