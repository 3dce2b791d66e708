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
// VNI, before the kernel's VXLAN takes it from whoever sends; other VNIs are
// others' affair. Out goes what the networks that span hosts send; to the peers'
// own tunnels containers send nothing, neither as themselves nor masqueraded.
func TunnelChains(f *Fabric) []Firewall {
	all := []Firewall{{Family: "inet", Kind: "table"}}
	all = append(all, counters("inet", "tunnel", "isolated", "unknown-peer", "spoofed-peer", "spoofed-inner")...)
	all = append(all, sets("inet", "spans", "peers4", "peers6", "origins44", "origins46", "origins64", "origins66", "strays44", "strays46", "strays64", "strays66")...)
	port, vni := fmt.Sprintf("udp dport %d", f.Port), fmt.Sprintf("@th,96,24 %#x", f.VNI)
	group := fmt.Sprintf("%#x", f.TunnelGroup())
	pods := `iifname { "` + PrefixBridge + `*", "` + PrefixPort + `*" } `
	return append(all,
		chain("inet", "tunnel-in", "", tunnelIn(f)...),
		chain("inet", "tunnel-input", "type filter hook input priority filter - 20; policy accept;",
			port+" jump tunnel-in"),
		// Tunnels' own packets are not tracked: a published port cannot take them,
		// and a flow inside costs no second entry.
		chain("inet", "tunnel-prerouting", "type filter hook prerouting priority raw - 4; policy accept;",
			port+" "+vni+" ip saddr @peers4 notrack",
			port+" "+vni+" ip6 saddr @peers6 notrack"),
		chain("inet", "tunnel-output", "type filter hook output priority raw - 4; policy accept;",
			port+" "+vni+" ip daddr @peers4 notrack",
			port+" "+vni+" ip6 daddr @peers6 notrack"),
		chain("inet", "tunnel-forward", "type filter hook forward priority filter - 20; policy accept;",
			"oifgroup "+group+" iifgroup != @spans "+drop("isolated"),
			// most packets are done here
			"meta l4proto != udp accept",
			"udp dport != { "+tunnelPorts(f)+" } accept",
			pods+"ip daddr @peers4 "+drop("tunnel"),
			pods+"ip6 daddr @peers6 "+drop("tunnel"),
			// nor do containers of other engines on this host
			"ip saddr != @peers4 ip daddr @peers4 "+port+" "+drop("tunnel"),
			"ip6 saddr != @peers6 ip6 daddr @peers6 "+port+" "+drop("tunnel")),
		// A peer's answer to a container's own address would come by the tunnel,
		// from an address that is not in the network.
		chain("inet", "tunnel-postrouting", "type nat hook postrouting priority srcnat - 6; policy accept;",
			"iifgroup @spans ip daddr @peers4 masquerade",
			"iifgroup @spans ip6 daddr @peers6 masquerade"))
}

// tunnelIn admits by the outer source and the inner one, which are together in
// the sets. Of a packet that is cut short no comparison is true, and it meets the
// drop at the end.
func tunnelIn(f *Fabric) []string {
	in := []string{
		fmt.Sprintf("@th,96,24 != %#x return", f.VNI),
		// A peer's packets come from where its own go: a container of another engine
		// on this host can write a peer's address, but not come by the underlay.
		"fib saddr . iif oif missing " + drop("spoofed-peer"),
	}
	for _, set := range []string{"origins", "strays"} {
		in = append(in,
			"@th,224,16 0x0800 ip saddr . @th,336,32 @"+set+"44 accept",
			"@th,224,16 0x86dd ip saddr . @th,304,128 @"+set+"46 accept",
			"@th,224,16 0x0800 ip6 saddr . @th,336,32 @"+set+"64 accept",
			"@th,224,16 0x86dd ip6 saddr . @th,304,128 @"+set+"66 accept")
	}
	return append(in,
		"ip saddr != @peers4 "+drop("unknown-peer"),
		"ip6 saddr != @peers6 "+drop("unknown-peer"),
		drop("spoofed-inner"))
}

// tunnelPorts are those of VXLAN, GENEVE, and VXLAN as Linux first had it.
func tunnelPorts(f *Fabric) string {
	ports := "4789, 6081, 8472"
	if f.Port != DefaultTunnelPort {
		ports += fmt.Sprintf(", %d", f.Port)
	}
	return ports
}
