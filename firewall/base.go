// Package firewall describes the rules of the networks as data: what each host, network and
// endpoint has in our nftables tables, and the nft script that makes it. It only computes; package
// kernel makes what plans say.
//
// Every host has two tables: inet heddle and bridge heddle. Their chains are static. Networks add
// chains of their own through the verdict maps, and endpoints are members of sets. So a packet
// costs the same with one endpoint and with two thousand.
//
//	prerouting:  from a routed network -> @doors -> door-NET (spoofing; notrack)
//	             @asks4, @asks6 (questions for names), publish (DNAT of published ports)
//	input:       to a gateway's address -> @gate4, @gate6 -> gate-NET
//	             to the resolver's address beside a LAN -> guard-resolver
//	forward:     from network to network -> @ways      (its own, or a tunnel: done)
//	             from a network -> @from -> from-NET   (leaves an internal one?)
//	             into a network -> @to   -> to-NET     (isolation)
//	postrouting: from a network -> @masq -> masq-NET   (masquerade, hairpin)
//	             masquerading, unshadow (keep clear of the host's ports)
//
// Sets whose elements are keyed by an interface's name hold what may be sent from that port.
package firewall

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// DropReasons are the named counters of our tables: why a packet was dropped.
var DropReasons = []string{"spoofed-mac", "spoofed-ip", "spoofed-arp", "spoofed-nd", "router-advert", "dhcp-server", "headers", "ethertype", "loopback", "isolated", "tunnel", "protocol", "spoofed-error", "shadowing", "unknown-peer", "spoofed-peer", "spoofed-inner", "denied", "untracked", "route-loop"}

// Base is the part of the firewall on the host that every network with a firewall needs.
func Base() []heddle.Firewall {
	return append(inetBase(), bridgeBase()...)
}

// Host is the part of Base for networks whose containers reach the host only through a device that
// the host has beside them.
func Host() []heddle.Firewall { return inetBase() }

func counters(family string, names ...string) []heddle.Firewall {
	var all []heddle.Firewall
	for _, name := range names {
		all = append(all, heddle.Firewall{Family: family, Kind: "counter", Name: name})
	}
	return all
}

func chain(family, name, spec string, rules ...string) heddle.Firewall {
	return heddle.Firewall{Family: family, Kind: "chain", Name: name, Spec: spec, Rules: rules}
}

// Drop counts a packet under a reason (see DropReasons) and drops it.
func Drop(reason string) string { return fmt.Sprintf("counter name \"%s\" drop", reason) }

func inetBase() []heddle.Firewall {
	all := []heddle.Firewall{{Family: "inet", Kind: "table"}}
	all = append(all, counters("inet", "spoofed-mac", "spoofed-ip", "router-advert", "dhcp-server", "loopback", "isolated", "tunnel", "protocol", "spoofed-error", "shadowing")...)
	all = append(all, sets("inet", "macs", "sends4", "sends6", "quoted4", "quoted6", "beside", "doors", "ways", "near4", "near6", "errors",
		"arriving", "landing", "passing", "leaving", "outlets", "gate4", "gate6", "from", "to", "masq", "allowed", "spans", "public4", "public6", "ports4", "ports6", "any4", "any6", "asks4", "asks6", "taken")...)
	all = append(all, masqueradeChains()...)
	return append(all,
		chain("inet", "publish", "",
			"ip daddr "+resolver4+" return",
			"ip6 daddr "+resolver6+" return",
			"meta nfproto ipv4 dnat ip to ip daddr . meta l4proto . th dport map @ports4",
			"meta nfproto ipv6 dnat ip6 to ip6 daddr . meta l4proto . th dport map @ports6",
			"meta nfproto ipv4 dnat ip to meta l4proto . th dport map @any4",
			"ip6 daddr != ::1 dnat ip6 to meta l4proto . th dport map @any6"),
		chain("inet", "guard", "",
			"ip saddr 127.0.0.0/8 "+Drop("loopback"),
			"ip daddr 127.0.0.0/8 "+Drop("loopback")),
		// One lookup says whether a packet has its sender's own addresses. For other packets,
		// guard-why finds and counts the reason.
		chain("inet", "guard-port", "",
			"meta nfproto ipv4 iifname . ether saddr . ip saddr != @sends4 goto guard-why",
			"meta nfproto ipv6 iifname . ether saddr . ip6 saddr != @sends6 goto guard-why",
			"meta l4proto { icmp, icmpv6 } goto guard-icmp",
			"udp sport . udp dport { 67 . 68, 547 . 546 } "+Drop("dhcp-server")),
		chain("inet", "guard-why", "",
			"jump guard",
			"icmpv6 type { nd-router-advert, nd-redirect } "+Drop("router-advert"),
			"iifname . ether saddr != @macs "+Drop("spoofed-mac"),
			"ip6 saddr :: icmpv6 type { nd-neighbor-solicit, mld-listener-report, mld2-listener-report } return",
			Drop("spoofed-ip")),
		chain("inet", "guard-icmp", "",
			"icmpv6 type { nd-router-advert, nd-redirect } "+Drop("router-advert"),
			"icmp type "+icmpErrors+" goto guard-error",
			"icmpv6 type "+icmp6Errors+" goto guard-error"),
		guardError("inet", "meta nfproto ipv4 ", "meta nfproto ipv6 "),
		// Containers of other engines can be reached only at their published ports. Their engine's
		// policy would drop other packets, but our accept rules come before it.
		chain("inet", "engines", "",
			"ct state established return",
			"ct status dnat return",
			"oifname @outlets return",
			"oifname "+engineNames()+" "+Drop("isolated")),
		// Containers may send only the usual protocols to the host. Their packets must not
		// reach the host's tunnels, or its routing and redundancy protocols. The IPv6
		// headers are tested one by one, because nft looks through an authentication
		// header, and reports the protocol behind it.
		chain("inet", "guard-host", "",
			// peers test the tunnel, see guard-tunnel
			`iifname "`+heddle.PrefixTunnel+`*" ip6 saddr fe80::/64 ip6 daddr fe80::/64 return`,
			"udp dport "+tunnelReceivers+" "+Drop("tunnel"),
			"meta nfproto ipv4 meta l4proto "+hostProtocols4+" return",
			"ip6 nexthdr "+hostProtocols6+" return",
			"ip6 nexthdr 0 hbh nexthdr "+hostProtocols6+" return",
			"ip6 nexthdr 60 dst nexthdr "+hostProtocols6+" return",
			Drop("protocol")),
		// From a tunnel the host accepts what the gate chains of the networks have accepted, and
		// the peers' link-local tests of the tunnel itself. It also accepts answers to connections
		// that left with an address of a network only because the host translated their source:
		// such an answer was sent to that address, and here it has the host's own again.
		chain("inet", "guard-tunnel", "",
			"ip6 saddr fe80::/64 ip6 daddr fe80::/64 meta l4proto { icmpv6, udp } return",
			"ct state established,related ct direction reply ct status snat return",
			Drop("isolated")),
		// At its address beside containers on a LAN, the resolver hears only them, and what the host
		// itself asks; the host may have no other address to call these containers from. For others that is no address of the host's.
		chain("inet", "guard-resolver", "",
			`iifname "lo" return`,
			"ct state established,related ct direction reply return",
			"meta l4proto { tcp, udp } th dport != 53 "+Drop("isolated"),
			"meta l4proto != { icmp, icmpv6, tcp, udp } "+Drop("isolated"),
			"meta nfproto ipv4 iifname "+besideHost+" iifname . ether saddr . ip saddr @sends4 return",
			"meta nfproto ipv6 iifname "+besideHost+" iifname . ether saddr . ip6 saddr @sends6 return",
			Drop("isolated")),
		// Into a tunnel goes, from outside its networks, what the host has translated: its rules
		// name a container, as a published port does. ICMP errors about that could be forged by
		// containers of other engines, which nothing keeps from writing others' addresses.
		chain("inet", "tunnel-to", "",
			"ct status dnat ip saddr . ip daddr @public4 goto tunnel-translated",
			"ct status dnat ip6 saddr . ip6 daddr @public6 goto tunnel-translated",
			Drop("isolated")),
		chain("inet", "tunnel-translated", "",
			clamp,
			"ct state new,established accept",
			"iifname @outlets accept",
			"iifname "+engineNames()+" "+Drop("isolated"),
			"accept"),
		chain("inet", "input", "type filter hook input priority filter - 10; policy accept;",
			"udp dport vmap @landing",
			"iifname "+fromPods+" jump guard-host",
			// On a device that host and containers share, a packet is from a container if its
			// source is the device's own MAC address.
			"iifname . ether saddr @beside jump guard-host",
			// only its own network may use a gateway's address
			"ip daddr "+resolver4+" jump guard-resolver",
			"ip6 daddr "+resolver6+" jump guard-resolver",
			"ip daddr vmap @gate4",
			"ip6 daddr vmap @gate6",
			`iifname "`+heddle.PrefixTunnel+`*" jump guard-tunnel`),
		chain("inet", "prerouting", "type filter hook prerouting priority raw - 5; policy accept;",
			"meta iifgroup vmap @doors",
			// a port whose network has no chain in @doors yet, or no longer has one
			`iifname "`+heddle.PrefixPort+`*" goto guard-why`,
			"udp dport vmap @arriving",
			`iifname != "lo" jump guard`,
			"meta l4proto { icmp, icmpv6 } iifname "+besideHost+" jump guard-icmp",
			"meta l4proto { icmp, icmpv6 } iifname . ether saddr @beside jump guard-icmp",
			// If bridged frames pass this table (bridge-nf-call-iptables), a frame to the outside
			// passes it twice: on its leaf, and when the first bridge routes it. The translation of
			// its address is decided once for each flow, when its first packet passes. On the leaf
			// the packet is not leaving yet, so it is not tracked there.
			`iifname "`+heddle.PrefixLeaf+`*" notrack`),
		chain("inet", "sending", "type filter hook output priority raw - 5; policy accept;",
			"udp dport vmap @leaving",
			"icmp type { destination-unreachable, time-exceeded, parameter-problem } oifgroup vmap @errors",
			"icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem } oifgroup vmap @errors"),
		chain("inet", "forward", "type filter hook forward priority filter - 10; policy accept;",
			// packets that stay in their network are decided here, and so are packets from and to a
			// tunnel
			"iifgroup . oifgroup vmap @ways",
			// a leaf routes nothing, not even what is sent to its own address
			`iifname "`+heddle.PrefixLeaf+`*" oifname != "`+heddle.PrefixLeaf+`*" `+Drop("isolated"),
			"udp dport vmap @passing",
			"meta iifgroup vmap @from",
			"meta oifgroup vmap @to"),
		chain("inet", "dstnat", "type nat hook prerouting priority dstnat - 5; policy accept;",
			"meta nfproto ipv4 meta l4proto { tcp, udp } th dport 53 dnat ip to iifgroup . ip saddr . ip daddr map @asks4",
			"meta nfproto ipv6 meta l4proto { tcp, udp } th dport 53 dnat ip6 to iifgroup . ip6 saddr . ip6 daddr map @asks6",
			"fib daddr type local jump publish"),
		chain("inet", "output", "type nat hook output priority -105; policy accept;",
			"fib daddr type local jump publish"),
		chain("inet", "postrouting", "type nat hook postrouting priority srcnat - 5; policy accept;",
			`oifname "`+heddle.PrefixBridge+`*" ip saddr 127.0.0.0/8 `+masquerade,
			`oifname "`+heddle.PrefixPort+`*" ip saddr 127.0.0.0/8 `+masquerade,
			"meta iifgroup vmap @masq",
			"meta oifgroup vmap @masq"))
}

const (
	// hostProtocols are the protocols that containers may send to hosts: ICMP, TCP, UDP, SCTP.
	hostProtocols4 = "{ 1, 6, 17, 132 }"
	hostProtocols6 = "{ 6, 17, 58, 132 }"
	// tunnelReceivers are the UDP ports at which Linux receives tunnels, most of them from any
	// sender: L2TP, GTP-U, AMT, GTP, ESP in UDP, VXLAN, VXLAN-GPE, RoCE, GUE, GENEVE, TIPC, MPLS,
	// VXLAN at the port that Linux used first, PFCP. Tunnels that authenticate their peers by a
	// key, such as WireGuard's, are treated as other services.
	tunnelReceivers = "{ 1701, 2152, 2268, 3386, 4500, 4789, 4790, 4791, 6080, 6081, 6118, 6635, 8472, 8805 }"
)

// The resolver's addresses beside containers on a LAN.
var resolver4, resolver6 = heddle.ResolverAddr(heddle.IPv4).String(), heddle.ResolverAddr(heddle.IPv6).String()

// The host's devices through which containers reach it, and those of them that have no port of
// their own for each container.
const (
	besideHost = `{ "` + heddle.PrefixShim + `*", "` + heddle.PrefixSlave + `*" }`
	fromPods   = `{ "` + heddle.PrefixBridge + `*", "` + heddle.PrefixPort + `*", "` + heddle.PrefixTunnel + `*", "` + heddle.PrefixShim + `*", "` + heddle.PrefixSlave + `*" }`
)
