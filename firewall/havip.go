package firewall

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// The rules of high-availability virtual IP addresses (HAVIP) on bridges. A member may send from such an address, and announce it, as
// from its own: it is in the sets that guard the member's port. One member at a time holds it, and what is sent to the address goes to
// that one, whatever MAC address the sender remembers:
//
//	prerouting: ARP and neighbour solicitations for the address, and packets to it -> @holds4, @holds6: the holder's MAC address
//
// An announcement stays a broadcast, and so comes to the bridge itself, where the agent hears it (RFC 5227, section 3; RFC 4861, 7.2.6).

// HAVIPs is the part of the firewall that every network with such an address needs.
func HAVIPs() []heddle.Firewall {
	all := []heddle.Firewall{{Family: "bridge", Kind: "table"}}
	all = append(all, sets("bridge", "addrs4", "addrs6", "quoted4", "quoted6", "nd", SetGuests4, SetGuests6, "announces4", "holds4", "holds6")...)
	return append(all,
		// after the guard, at -300
		chain("bridge", "havip", "type filter hook prerouting priority -298; policy accept;",
			"ether type arp arp operation request meta iifgroup . arp saddr ip . arp daddr ip @announces4 accept",
			"ether type arp arp operation request ether daddr set meta iifgroup . arp daddr ip map @holds4",
			"ether type ip ether daddr set meta iifgroup . ip daddr map @holds4",
			// who looks whether anybody has the address already has none yet (RFC 4862, 5.4); who holds it is no matter of that
			"icmpv6 type nd-neighbor-solicit ip6 saddr != :: ether daddr set meta iifgroup . @th,64,128 map @holds6",
			"ether type ip6 ether daddr set meta iifgroup . @nh,192,128 map @holds6"))
}

// HAVIPGuard lets a member's port send from the address.
func HAVIPGuard(port string, a netip.Addr) []heddle.Element {
	all := []heddle.Element{{Family: "bridge", Set: "addrs" + heddle.FamilyOf(a).Digit(), Match: []string{port, a.String()}}}
	if a.Is6() {
		all = append(all, heddle.Element{Family: "bridge", Set: "nd", Match: []string{port, a.String()}})
	}
	return append(all, quotes("bridge", port, []netip.Addr{a})...)
}

// HAVIPKnown says that the network has the address: its announcements stay broadcasts (those of IPv6 are no requests), and an ICMP error
// from it is no router's to policies.
func HAVIPKnown(n heddle.Network, a netip.Addr) []heddle.Element {
	all := []heddle.Element{{Family: "bridge", Set: "guests" + heddle.FamilyOf(a).Digit(), Match: []string{a.String()}}}
	if a.Is4() {
		all = append(all, heddle.Element{Family: "bridge", Set: "announces4", Match: []string{fmt.Sprintf("%#x", n.Group()), a.String(), a.String()}})
	}
	return all
}

// HAVIPHeld leads to the holder what is sent to the address.
func HAVIPHeld(n heddle.Network, a netip.Addr, holder heddle.MAC) heddle.Element {
	return heddle.Element{Family: "bridge", Set: "holds" + heddle.FamilyOf(a).Digit(), Match: []string{fmt.Sprintf("%#x", n.Group()), a.String()}, Value: []string{string(holder)}}
}
