package firewall

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// Admission says, as rules of nft, who may send and deliver packets of a path between hosts.
type Admission struct {
	// Port is the UDP port of the path's packets. Without a port there are no rules about it.
	Port uint16
	// Landing are the rules for packets to the port that are for this host, Arriving for all
	// packets to the port, before tracking, and Leaving for what the host sends to the port.
	Landing, Arriving, Leaving []string
	// Entering are the rules for packets that go into the path's devices, after all translation.
	Entering []string
	// Passing are the rules for packets that pass through the host to a port of Foreign. What
	// containers send to peers has been dropped before.
	Passing []string
	// Foreign are the UDP ports that only hosts may send to between peers.
	Foreign []uint16
}

// PathChains are the chains that a path between hosts has in our tables: the rules of its
// Admission, and those for packets from its devices.
func PathChains(f *heddle.Fabric, a Admission) []heddle.Firewall {
	all := append(inetBase(), counters("inet", "unknown-peer", "spoofed-peer", "spoofed-inner")...)
	all = append(all, sets("inet", "peers4", "peers6", "hosts4", "hosts6", "origins44", "origins46", "origins64", "origins66", "strays44", "strays46", "strays64", "strays66", "privileged4", "privileged6")...)
	pods := `iifname { "` + heddle.PrefixBridge + `*", "` + heddle.PrefixPort + `*" } `
	all = append(all, storeChains()...)
	if a.Port != 0 {
		all = append(all,
			chain("inet", "tunnel-in", "", a.Landing...),
			chain("inet", "tunnel-arriving", "", a.Arriving...),
			chain("inet", "tunnel-leaving", "", a.Leaving...))
	}
	if len(a.Entering) > 0 {
		all = append(all, chain("inet", "tunnel-entering", "type filter hook postrouting priority srcnat + 200; policy accept;", a.Entering...))
	}
	return append(all,
		// packets that come out of a tunnel
		chain("inet", "tunnel-door", "",
			"ip daddr vmap @near4",
			"ip6 daddr vmap @near6",
			"goto guard"),
		chain("inet", "tunnel-forward", "", append([]string{
			pods + "ip daddr @peers4 " + Drop("tunnel"),
			pods + "ip6 daddr @peers6 " + Drop("tunnel"),
		}, a.Passing...)...),
		chain("inet", "tunnel-postrouting", "type nat hook postrouting priority srcnat - 6; policy accept;", postroutingRules(f)...))
}

// postroutingRules choose the source of packets that would otherwise be answered past this host.
func postroutingRules(f *heddle.Fabric) []string {
	// Otherwise a peer's answer to a container's own address would come through the tunnel,
	// from an address that is not in the network. This holds for any address of the peer that
	// is called, also one of the IP version that tunnels do not use.
	rules := []string{
		"iifgroup @spans ip daddr @hosts4 " + masquerade,
		"iifgroup @spans ip6 daddr @hosts6 " + masquerade}
	// Whoever sent it, what the host has translated leaves with the host's own address of the
	// network: the peer takes no other source, and the answer comes back to the host. The kernel's
	// masquerading would take the first address of the device, which may be of another network.
	for _, n := range f.Networks {
		for _, p := range n.Subnets {
			if source, ok := f.Source(n.ID, heddle.FamilyOf(p.Addr())); ok {
				ip := heddle.FamilyOf(p.Addr()).Word()
				rules = append(rules, sourceRules(fmt.Sprintf("oifgroup %s ct status dnat %s daddr %s", tunnelGroup(f), ip, p), ip, source)...)
			}
		}
	}
	return rules
}

// PathElements add these chains to the host's verdict maps.
func PathElements(f *heddle.Fabric, a Admission) []heddle.Element {
	all := []heddle.Element{
		{Family: "inet", Set: "doors", Match: []string{tunnelGroup(f)}, Value: []string{"goto tunnel-door"}},
		{Family: "inet", Set: "to", Match: []string{tunnelGroup(f)}, Value: []string{"jump tunnel-to"}},
	}
	if a.Port != 0 {
		own := fmt.Sprint(a.Port)
		all = append(all,
			heddle.Element{Family: "inet", Set: "arriving", Match: []string{own}, Value: []string{"jump tunnel-arriving"}},
			heddle.Element{Family: "inet", Set: "landing", Match: []string{own}, Value: []string{"jump tunnel-in"}},
			heddle.Element{Family: "inet", Set: "leaving", Match: []string{own}, Value: []string{"jump tunnel-leaving"}})
	}
	for _, port := range a.Foreign {
		all = append(all, heddle.Element{Family: "inet", Set: "passing", Match: []string{fmt.Sprint(port)}, Value: []string{"jump tunnel-forward"}})
	}
	return all
}

// PeerElements are the elements with the underlay addresses of a peer. What containers send to
// these addresses leaves with the address of the host.
func PeerElements(p heddle.Host) (all []heddle.Element) {
	for _, a := range p.Underlay {
		all = append(all, heddle.Element{Family: "inet", Set: "hosts" + heddle.FamilyOf(a).Digit(), Match: []string{a.String()}})
	}
	return all
}
