package firewall

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// The rules that are the same for all ports with a policy. A packet from such a port passes the hook prerouting, one to it the hook
// postrouting; there the port's name leads to the chain of its policies:
//
//	prerouting:  @policed-out -> policed-HASH-out: jump known-out, rules of the policies (-> flow-out), refused-out
//	postrouting: @policed-in  -> policed-HASH-in:  jump known-in,  rules of the policies (-> flow-in),  refused-in
//	forward (inet):              neighbour discovery that leaves its link: drop
//
// known-out and known-in let pass what is about a flow that was allowed. flow-out and flow-in note the flow of an allowed packet and
// accept it. The bridge family has no connection tracking on many kernels (CONFIG_NF_CONNTRACK_BRIDGE), and where it has, it would
// track all bridges of the host. So flows are members of dynamic sets, by who began: what -out has noted answers may come in by, and
// the other way round. Only who began is noted again with each packet (RFC 4787, REQ-6), and is asked for by the rules again.
//
// An address is looked up together with the port that has it (@addrs4, @addrs6). So no flow of one port lets a packet pass another.

// The verdict maps of ports with a policy, and the set of all endpoints' addresses.
const (
	SetPolicedOut, SetPolicedIn = "policed-out", "policed-in"
	SetGuests4, SetGuests6      = "guests4", "guests6"
	// GroupPrefix begins the names of the sets of a group's addresses; the family's digit and a hash follow.
	GroupPrefix = "group"
)

// Policed is the part of the firewall that every port with a policy needs: counters, sets and maps, and the chains that use them. Told says
// that the kernel tells of what is refused.
func Policed(told bool) (holders, chains []heddle.Firewall) {
	senders, ends := refused(told)
	holders = append([]heddle.Firewall{{Family: "bridge", Kind: "table"}, {Family: "inet", Kind: "table"}}, counters("bridge", "denied", "untracked")...)
	holders = append(holders, counters("inet", "denied")...)
	holders = append(holders, sets("bridge", "addrs4", "addrs6", SetGuests4, SetGuests6, SetPolicedOut, SetPolicedIn)...)
	holders = append(holders, senders...)
	for _, way := range []string{"out", "in"} {
		for _, v := range versions {
			holders = append(holders, v.flowSets(way)...)
		}
	}
	chains = append(ends, passChain("out"), passChain("in"), flowChain("out"), flowChain("in"), knownChain("out"), knownChain("in"),
		chain("bridge", "policy-out", "type filter hook prerouting priority -299; policy accept;", "iifname vmap @"+SetPolicedOut),
		chain("bridge", "policy-in", "type filter hook postrouting priority 0; policy accept;", "oifname vmap @"+SetPolicedIn),
		// Neighbour discovery passes the ports without a rule (known-out), since it stays on its link. Linux routes it all the same if
		// it is sent to an address elsewhere: then its hop limit is less than 255, and nobody may heed it (RFC 4861, 6.1 and 7.1).
		chain("inet", "policy-routed", "type filter hook forward priority filter - 11; policy accept;",
			`iifname "`+heddle.PrefixBridge+`*" icmpv6 type 133-137 ip6 hoplimit != 255 `+Drop("denied")))
	return holders, chains
}

// flowSets are the sets of the flows that began in one way.
func (v version) flowSets(way string) []heddle.Firewall {
	set := func(name, key string, seconds, size int) heddle.Firewall {
		return heddle.Firewall{Family: "bridge", Kind: "set", Name: name + "-" + way + v.digit,
			Spec: fmt.Sprintf("typeof %s; flags dynamic,timeout; size %d; timeout %ds; %s;", key, size, seconds, flowsGC)}
	}
	f := v.forms[0]
	ports := v.from() + f.src + " . " + f.dst
	return []heddle.Firewall{set("tcp", ports, tcpTime, maxTCPFlows), set("udp", ports, udpTime, maxFlows), set("sctp", ports, sctpTime, maxFlows),
		set("closing", ports, tcpClosing, maxFlows), set("echo", v.from()+f.id, echoTime, maxFlows), set("piece", v.piece, fragmentTime, maxFlows)}
}

// knownChain lets pass what needs no rule: ARP, neighbour discovery and multicast membership, the rest of datagrams, replies, and errors about flows.
func knownChain(way string) heddle.Firewall {
	back, own := "in", `iifname . %s saddr`
	if way == "in" {
		back, own = "out", `oifname . %s daddr`
	}
	rules := []string{
		"ether type arp accept",
		"ether type != { ip, ip6 } " + Refuse(way),
		// RFC 4861: a hop limit of 255 proves that no router has passed it on. RFC 3810: 1, behind a hop-by-hop header.
		"ip6 nexthdr 58 ip6 hoplimit 255 icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert } accept",
		"ip6 nexthdr 0 ip6 hoplimit 1 ip6 daddr ff00::/8 icmpv6 type { mld-listener-query, mld-listener-report, mld-listener-done, mld2-listener-report } accept",
		// Behind options and further headers the ports are not where the rules look for them.
		"ether type ip ip hdrlength != 5 " + Refuse(way),
		"ip6 nexthdr { 0, 43, 51, 60, 135, 139, 140 } " + Refuse(way),
		"ip6 nexthdr 44 @nh,320,8 { 0, 43, 44, 51, 60, 135, 139, 140 } " + Refuse(way),
		// A second piece that begins inside TCP's header could change it (RFC 3128).
		"ip frag-off & 0x1fff == 1 " + Refuse(way),
		"ether type ip " + laterPiece4 + " " + versions[0].piece + " @piece-" + way + "4 accept",
		laterPiece4 + " " + Refuse(way),
		piece6 + " " + versions[1].piece + " @piece-" + way + "6 accept",
		piece6 + " " + Refuse(way),
	}
	for _, v := range versions {
		rules = append(rules, v.ether+" "+fmt.Sprintf(own, v.ip)+" != @"+v.addrs+" return") // to a group of hosts, or not to the port at all
	}
	for _, v := range versions {
		rules = append(rules, v.replies(back)...)
		rules = append(rules, v.errorRules(way)...)
	}
	return chain("bridge", "known-"+way, "", rules...)
}

// replies let pass the answers to flows that began the other way.
func (v version) replies(back string) (rules []string) {
	for _, f := range v.forms {
		for _, p := range flowProtocols {
			rules = append(rules, v.ether+" "+f.is+"meta l4proto "+p.number+" "+v.to()+f.dst+" . "+f.src+" @"+p.name+"-"+back+v.digit+" goto pass-"+opposite(back))
		}
		rules = append(rules, v.ether+" "+f.is+v.reply+" "+v.to()+f.id+" @echo-"+back+v.digit+" goto pass-"+opposite(back))
	}
	return rules
}

func opposite(way string) string {
	if way == "in" {
		return "out"
	}
	return "in"
}

// errorRules let pass the errors about packets that the receiver has sent. An endpoint's error is about a packet that was sent to it
// (guard-error), so its addresses are those of the flow. Errors of routers quote others' addresses; those that come this far are the
// host's own, or connection tracking knows what they are about. An endpoint has no other address to send them from than its own, which
// are @guests, and its link-local one; the hook does not tell the port that a frame came by.
func (v version) errorRules(way string) (rules []string) {
	plain := v.ether + " "
	if v.digit == "4" {
		plain += "ip frag-off & 0x3fff == 0 @th,64,8 0x45 @th,112,16 & 0x1fff == 0 "
	} else {
		plain += "ip6 nexthdr 58 "
	}
	plain += v.errors + " "
	for _, p := range flowProtocols {
		about := plain + v.quotedProto + " " + p.number + " "
		ports := v.quotedPorts[0] + " . " + v.quotedPorts[1]
		swapped := v.quotedPorts[1] + " . " + v.quotedPorts[0]
		// about a packet of who began, and about an answer
		rules = append(rules, about+v.to()+ports+" @"+p.name+"-"+opposite(way)+v.digit+" accept",
			about+v.from()+swapped+" @"+p.name+"-"+way+v.digit+" accept")
	}
	rules = append(rules, plain+v.quotedProto+" "+v.icmpProto+" "+v.to()+v.quotedID+" @echo-"+opposite(way)+v.digit+" accept")
	if way == "in" {
		rules = append(rules, plain+v.routers+v.ip+" saddr != @"+v.guests+" accept")
	}
	return append(rules, v.ether+" "+v.allErrors+" "+Refuse(way))
}

// passChain accepts a packet. If it is the first piece of a datagram, the others may follow.
func passChain(way string) heddle.Firewall {
	return chain("bridge", "pass-"+way, "",
		"ether type ip "+firstPiece4+" update @piece-"+way+"4 { "+versions[0].piece+" }",
		"ether type ip6 "+firstPiece6+" update @piece-"+way+"6 { "+versions[1].piece+" }",
		"accept")
}

// flowChain notes the flow of a packet that a rule allows, and accepts the packet. No flow is noted for an address that the port has not: that
// of a group of hosts, or of somebody beyond a next hop, whose datagrams come in pieces all the same.
func flowChain(way string) heddle.Firewall {
	own := `iifname . %s saddr`
	if way == "in" {
		own = `oifname . %s daddr`
	}
	var rules []string
	for _, v := range versions {
		others := v.ether + " " + fmt.Sprintf(own, v.ip) + " != @" + v.addrs + " "
		rules = append(rules, others+v.ip+" daddr "+v.groups+" accept", others+"goto pass-"+way)
	}
	for _, v := range versions {
		name := way + v.digit
		for _, f := range v.forms {
			on, key := v.ether+" "+f.is, v.from()+f.src+" . "+f.dst
			note := func(what, set, time string) string {
				return on + what + " update @" + set + "-" + name + " { " + key + " timeout " + time + " } goto pass-" + way
			}
			rules = append(rules,
				on+flagsSyn+" delete @closing-"+name+" { "+key+" }",
				on+flagsEnd+" update @closing-"+name+" { "+key+" }",
				note("meta l4proto 6 "+key+" @closing-"+name, "tcp", fmt.Sprint(tcpClosing, "s")),
				note(flagsSyn, "tcp", fmt.Sprint(tcpOpening, "s")))
			for _, p := range flowProtocols {
				rules = append(rules, note("meta l4proto "+p.number, p.name, fmt.Sprint(p.time, "s")))
			}
			rules = append(rules, on+v.echo+" update @echo-"+name+" { "+v.from()+f.id+" } goto pass-"+way)
		}
		// the sets are full, or the header is cut short
		rules = append(rules, v.ether+" meta l4proto { 6, 17, 132 } "+Drop("untracked"), v.ether+" "+v.echo+" "+Drop("untracked"))
	}
	return chain("bridge", "flow-"+way, "", append(rules, "goto pass-"+way)...)
}
