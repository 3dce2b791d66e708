package heddle

import (
	"fmt"
	"net/netip"
	"slices"
)

// The firewall of networks that span hosts.

// SpanningChains are the chains of a network that spans hosts, which without a
// fabric are those of one host.
func SpanningChains(f *Fabric, n Network, masquerade bool) []Firewall {
	return networkChains(n, f, masquerade, false)
}

// joined are the subnets that a network's containers may talk with on other
// hosts: its own, and those of networks it is joined with, either way.
func (f *Fabric) joined(n Network) []netip.Prefix {
	all := slices.Clone(n.Subnets)
	for _, other := range f.Networks {
		if slices.Contains(n.Allow, other.ID) || slices.Contains(other.Allow, n.ID) {
			all = append(all, other.Subnets...)
		}
	}
	return all
}

func version(p netip.Prefix) string {
	if p.Addr().Is4() {
		return "ip"
	}
	return "ip6"
}

// TunnelChains guard the tunnels, which have no authentication (RFC 7348, section
// 7): in comes what a known peer sends from its own blocks under the cluster's
// VNI, before the kernel's VXLAN takes it from whoever sends. Containers send
// nothing to the peers' tunnels, neither as themselves nor masqueraded.
func TunnelChains(f *Fabric) []Firewall {
	all := []Firewall{{Family: "inet", Kind: "table"}}
	all = append(all, counters("inet", "tunnel", "unknown-peer", "spoofed-inner")...)
	all = append(all, sets("inet", "peers4", "peers6", "origins44", "origins46", "origins64", "origins66", "strays44", "strays46", "strays64", "strays66")...)
	port := fmt.Sprintf("udp dport %d ", f.Port)
	in := []string{
		"ip saddr != @peers4 " + drop("unknown-peer"),
		"ip6 saddr != @peers6 " + drop("unknown-peer"),
		fmt.Sprintf("@th,96,24 != %#x ", f.VNI) + drop("unknown-peer"),
	}
	for _, set := range []string{"origins", "strays"} {
		in = append(in,
			"@th,224,16 0x0800 ip saddr . @th,336,32 @"+set+"44 accept",
			"@th,224,16 0x86dd ip saddr . @th,304,128 @"+set+"46 accept",
			"@th,224,16 0x0800 ip6 saddr . @th,336,32 @"+set+"64 accept",
			"@th,224,16 0x86dd ip6 saddr . @th,304,128 @"+set+"66 accept")
	}
	return append(all,
		chain("inet", "tunnel-in", "", append(in, drop("spoofed-inner"))...),
		chain("inet", "tunnel-input", "type filter hook input priority filter - 20; policy accept;",
			port+"jump tunnel-in"),
		chain("inet", "tunnel-forward", "type filter hook forward priority filter - 20; policy accept;",
			`iifname { "`+PrefixBridge+`*", "`+PrefixPort+`*" } udp dport { 4789, 6081, 8472, `+fmt.Sprint(f.Port)+` } ip daddr @peers4 `+drop("tunnel"),
			`iifname { "`+PrefixBridge+`*", "`+PrefixPort+`*" } udp dport { 4789, 6081, 8472, `+fmt.Sprint(f.Port)+` } ip6 daddr @peers6 `+drop("tunnel")))
}
