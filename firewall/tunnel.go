package firewall

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// The firewall of networks that span hosts.

// SpanningChains are the chains of a network that spans hosts, which without a
// fabric are those of one host. What its containers send each other is not tracked
// on any of the hosts; what a host itself sends and gets, is. A host that has no
// address of its own in the network could not get back what it translates (see
// masqRules), and tracks all.
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
	// The host could not tell a sender whose packets it translates what a path
	// carries: its errors would name addresses that the sender does not know.
	clamp := "ct status dnat tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu"
	out, in := []string{clamp}, []string{clamp}
	for _, p := range joined(f, n) {
		out = append(out, heddle.FamilyOf(p.Addr()).Word()+" daddr "+p.String()+" accept")
		in = append(in, heddle.FamilyOf(p.Addr()).Word()+" saddr "+p.String()+" accept")
	}
	return append(all,
		chain("inet", n.ChainName("out"), "", append(out, drop("isolated"))...),
		chain("inet", n.ChainName("in"), "", append(in, "ct state established accept", drop("isolated"))...))
}

// SpanningWays hang them into the host's verdict maps.
func SpanningWays(f *heddle.Fabric, n heddle.Network) []heddle.Element {
	all := RoutedWays(n)
	if f == nil {
		return all
	}
	group, tunnel := fmt.Sprintf("%#x", n.Group()), tunnelGroup(f)
	return append(all,
		heddle.Element{Family: "inet", Set: "ways", Match: []string{group, tunnel}, Value: []string{"goto " + n.ChainName("out")}},
		heddle.Element{Family: "inet", Set: "ways", Match: []string{tunnel, group}, Value: []string{"goto " + n.ChainName("in")}})
}

// ownAddresses are the host's in the network: the gateways, and those that it
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

// joined are the subnets that a network's containers may talk with on other
// hosts: its own, and those of networks it is joined with, either way.
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

// TunnelChains guard the tunnels, which have no authentication (RFC 7348, section
// 7): in comes what a known peer sends from its own blocks under the cluster's
// VNI, before the kernel's VXLAN takes it from whoever sends; other VNIs are
// others' affair. Out goes what the networks that span hosts send; to the peers'
// own tunnels containers send nothing, neither as themselves nor masqueraded.
func TunnelChains(f *heddle.Fabric) []heddle.Firewall {
	all := append(inetBase(), counters("inet", "unknown-peer", "spoofed-peer", "spoofed-inner")...)
	all = append(all, sets("inet", "peers4", "peers6", "hosts4", "hosts6", "origins44", "origins46", "origins64", "origins66", "strays44", "strays46", "strays64", "strays66", "privileged4", "privileged6")...)
	port, vni := fmt.Sprintf("udp dport %d", f.Port), fmt.Sprintf("@th,96,24 %#x", f.VNI)
	ours := fmt.Sprintf("meta mark & %#x == %#[1]x %s", tunnelMark, vni)
	unmark := fmt.Sprintf("meta mark set meta mark & %#x", ^uint32(tunnelMark))
	pods := `iifname { "` + heddle.PrefixBridge + `*", "` + heddle.PrefixPort + `*" } `
	all = append(all, storeChains()...)
	return append(all,
		chain("inet", "tunnel-in", "", tunnelIn(f)...),
		// Tunnels' own packets are not tracked: a published port cannot take them,
		// and a flow inside costs no second entry.
		chain("inet", "tunnel-arriving", "",
			vni+" ip saddr @peers4 notrack accept",
			vni+" ip6 saddr @peers6 notrack accept"),
		// What leaves for a tunnel has gone through one of our devices, which a process
		// cannot say of its own packets. Of a datagram that the kernel will cut up
		// (UDP_SEGMENT) only the first header is seen here, but the ports are all alike.
		chain("inet", "tunnel-leaving", "",
			ours+" ip daddr @peers4 "+unmark+" notrack accept",
			ours+" ip6 daddr @peers6 "+unmark+" notrack accept",
			vni+" "+drop("tunnel"),
			"udp sport "+tunnelSources+" "+drop("tunnel")),
		chain("inet", "tunnel-entering", "type filter hook postrouting priority srcnat + 200; policy accept;",
			fmt.Sprintf("oifgroup %s meta mark set meta mark | %#x", tunnelGroup(f), tunnelMark)),
		// what comes out of a tunnel
		chain("inet", "tunnel-door", "",
			"ip daddr vmap @near4",
			"ip6 daddr vmap @near6",
			"goto guard"),
		chain("inet", "tunnel-forward", "",
			pods+"ip daddr @peers4 "+drop("tunnel"),
			pods+"ip6 daddr @peers6 "+drop("tunnel"),
			// nor do containers of other engines on this host; but it may be the router
			// between two peers
			port+" ip saddr @peers4 fib saddr . iif oif exists return",
			port+" ip6 saddr @peers6 fib saddr . iif oif exists return",
			port+" ip daddr @peers4 "+drop("tunnel"),
			port+" ip6 daddr @peers6 "+drop("tunnel"),
			// a peer has other addresses, too
			port+" "+vni+" "+drop("tunnel"),
			port+" udp sport "+tunnelSources+" "+drop("tunnel")),
		chain("inet", "tunnel-to", "", drop("isolated")),
		// A peer's answer to a container's own address would come by the tunnel,
		// from an address that is not in the network: whichever of its addresses was
		// called, also one of the IP version that tunnels do not use.
		chain("inet", "tunnel-postrouting", "type nat hook postrouting priority srcnat - 6; policy accept;",
			"iifgroup @spans ip daddr @hosts4 "+masquerade,
			"iifgroup @spans ip6 daddr @hosts6 "+masquerade))
}

// tunnelSources are the ports that tunnels send from.
var tunnelSources = fmt.Sprintf("%d-%d", heddle.TunnelSourceLow, heddle.TunnelSourceEnd-1)

// tunnelMark is the bit of a packet's mark that says that it goes into a tunnel of
// ours. It is taken off when the packet comes out in VXLAN, before it leaves the host.
const tunnelMark = 0x40000000

// TunnelWays hang them into the host's verdict maps.
func TunnelWays(f *heddle.Fabric) []heddle.Element {
	own := fmt.Sprint(f.Port)
	all := []heddle.Element{
		{Family: "inet", Set: "doors", Match: []string{tunnelGroup(f)}, Value: []string{"goto tunnel-door"}},
		{Family: "inet", Set: "to", Match: []string{tunnelGroup(f)}, Value: []string{"jump tunnel-to"}},
		{Family: "inet", Set: "arriving", Match: []string{own}, Value: []string{"jump tunnel-arriving"}},
		{Family: "inet", Set: "landing", Match: []string{own}, Value: []string{"jump tunnel-in"}},
		{Family: "inet", Set: "leaving", Match: []string{own}, Value: []string{"jump tunnel-leaving"}},
	}
	for _, port := range tunnelPorts(f) {
		all = append(all, heddle.Element{Family: "inet", Set: "passing", Match: []string{fmt.Sprint(port)}, Value: []string{"jump tunnel-forward"}})
	}
	return all
}

// tunnelIn admits by the outer source and the inner one, which are together in
// the sets: a block first, as most are. Of a packet that is cut short no comparison
// is true, and it meets the drop at the end.
func tunnelIn(f *heddle.Fabric) []string {
	vni := fmt.Sprintf("@th,96,24 %#x ", f.VNI)
	admitted := func(set, vni string) []string {
		return []string{
			vni + "@th,224,16 0x0800 ip saddr . @th,336,32 @" + set + "44 accept",
			vni + "@th,224,16 0x86dd ip saddr . @th,304,128 @" + set + "46 accept",
			vni + "@th,224,16 0x0800 ip6 saddr . @th,336,32 @" + set + "64 accept",
			vni + "@th,224,16 0x86dd ip6 saddr . @th,304,128 @" + set + "66 accept",
		}
	}
	// A peer's packets come from where its own go: a container of another engine on
	// this host can write a peer's address, but not come by the underlay. One of mode
	// ipvlan comes by the underlay's NIC, with that NIC's own MAC address.
	in := []string{"iifname . ether saddr @beside " + drop("tunnel"),
		vni + "fib saddr . iif oif missing " + drop("spoofed-peer"),
		// Nor is a peer's tunnel a user of that host, who may not bind such ports.
		vni + "ip saddr @privileged4 udp sport != " + tunnelSources + " " + drop("spoofed-peer"),
		vni + "ip6 saddr @privileged6 udp sport != " + tunnelSources + " " + drop("spoofed-peer")}
	in = append(append(in, admitted("origins", vni)...), fmt.Sprintf("@th,96,24 != %#x return", f.VNI))
	in = append(in, admitted("strays", "")...)
	return append(in,
		"ip saddr != @peers4 "+drop("unknown-peer"),
		"ip6 saddr != @peers6 "+drop("unknown-peer"),
		drop("spoofed-inner"))
}

// tunnelPorts are those of VXLAN, GENEVE, and VXLAN as Linux first had it.
func tunnelPorts(f *heddle.Fabric) []uint16 {
	ports := []uint16{4789, 6081, 8472}
	if f.Port != heddle.DefaultTunnelPort {
		ports = append(ports, f.Port)
	}
	return ports
}
