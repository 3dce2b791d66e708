package firewall

import "github.com/heddle-network/heddle"

// bridgeBase is the table for the frames on the bridges. It checks what a container may send from
// its port.
func bridgeBase() []heddle.Firewall {
	all := []heddle.Firewall{{Family: "bridge", Kind: "table"}}
	all = append(all, counters("bridge", "spoofed-mac", "spoofed-ip", "spoofed-arp", "spoofed-nd", "router-advert", "dhcp-server", "headers", "ethertype", "spoofed-error")...)
	all = append(all, sets("bridge", "macs", "addrs4", "addrs6", "quoted4", "quoted6", "nd", "who4", "who6", setRouted, setQuotes)...)
	return append(all,
		// The rules name what may pass, and the rest is dropped: no rule matches a header that is
		// cut short, or hidden by a fragment.
		chain("bridge", "guard-arp", "",
			"iifname . arp saddr ip @addrs4 iifname . arp saddr ether @macs return",
			"arp operation request iifname . arp saddr ether @macs iifname vmap @"+setRouted,
			Drop("spoofed-arp")),
		chain("bridge", "guard-ip4", "",
			"udp sport 67 udp dport 68 "+Drop("dhcp-server"),
			"icmp type "+icmpErrors+" iifname . ip saddr @addrs4 goto guard-error",
			"iifname . ip saddr @addrs4 return",
			"iifname vmap @"+setRouted,
			Drop("spoofed-ip")),
		guardError("bridge", "ether type ip ", "ether type ip6 ", "iifname vmap @"+setQuotes),
		chain("bridge", "guard-icmp6", "",
			"icmpv6 type { nd-router-advert, nd-redirect } "+Drop("router-advert"),
			"ip6 saddr :: icmpv6 type { nd-neighbor-solicit, mld-listener-report, mld2-listener-report } return",
			"iifname . ip6 saddr != @addrs6 iifname vmap @"+setRouted,
			"iifname . ip6 saddr != @addrs6 "+Drop("spoofed-ip"),
			// in a later fragment the kernel would take data for a type
			"frag frag-off != 0 return",
			"icmpv6 type "+icmp6Errors+" goto guard-error",
			"icmpv6 type nd-neighbor-advert iifname . @th,64,128 @nd return",
			"icmpv6 type nd-neighbor-advert "+Drop("spoofed-nd"),
			"icmpv6 type != nd-neighbor-advert return",
			Drop("headers")),
		chain("bridge", "guard-ip6", "",
			"meta l4proto icmpv6 goto guard-icmp6",
			"udp sport 547 udp dport 546 "+Drop("dhcp-server"),
			// the second condition holds if the kernel finds the upper layer; it finds none behind
			// a chain of headers that a fragment hides (RFC 7112, RFC 7113)
			"iifname . ip6 saddr @addrs6 meta l4proto != 255 return",
			"iifname . ip6 saddr @addrs6 "+Drop("headers"),
			"iifname vmap @"+setRouted,
			Drop("spoofed-ip")),
		chain("bridge", "guard", "",
			"iifname . ether saddr != @macs "+Drop("spoofed-mac"),
			"ether type vmap { ip : goto guard-ip4, ip6 : goto guard-ip6, arp : goto guard-arp }",
			Drop("ethertype")),
		chain("bridge", "prerouting", "type filter hook prerouting priority -300; policy accept;",
			`iifname "`+heddle.PrefixPort+`*" jump guard`,
			"ether daddr ff:ff:ff:ff:ff:ff arp operation request ether daddr set meta iifgroup . arp daddr ip map @who4",
			"icmpv6 type nd-neighbor-solicit ether daddr & ff:ff:ff:00:00:00 == 33:33:ff:00:00:00 ether daddr set meta iifgroup . @th,64,128 map @who6"))
}
