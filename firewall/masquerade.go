package firewall

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// The first and the last port with which masqueraded connections leave the host. They are above the
// range of ports that the kernel gives to sockets (net.ipv4.ip_local_port_range, 32768 to 60999);
// early Linux masqueraded with this range, too (MASQ_PORT_BEGIN, Linux 2.2). A connection that
// leaves by a port on which the host listens would shadow that port: the kernel takes what the peer
// sends to the port for an answer to the connection (CVE-2021-3773).
const (
	FirstMasqueradePort uint16 = 61000
	LastMasqueradePort  uint16 = 65535
)

// SetTaken holds the ports of the host in that range.
const SetTaken = "taken"

// masquerade is the end of a rule that translates the source to the host's address.
const masquerade = "goto masquerading"

func masqueradePorts() string {
	return fmt.Sprintf("%d-%d", FirstMasqueradePort, LastMasqueradePort)
}

// withPorts are the protocols whose ports a translation can choose.
const withPorts = "meta l4proto { tcp, udp, udplite, dccp, sctp } "

// masqueradeChains hide a connection behind the host, without the ports that a program on the host
// uses: ports outside the range are not used, and used ports within it are in @taken. The kernel
// keeps a source port of the range if it can. Otherwise it chooses a port without asking whether it
// is taken; unshadow then drops the packet, and the next attempt gets another port. A protocol
// without ports would shadow everything that the host itself exchanges with that peer, so it is not
// masqueraded.
func masqueradeChains() []heddle.Firewall {
	ports := masqueradePorts()
	return []heddle.Firewall{
		chain("inet", "masquerading", "",
			"meta l4proto { tcp, udp, sctp } meta l4proto . th sport @taken masquerade to :"+ports+" fully-random",
			withPorts+"masquerade to :"+ports,
			"meta l4proto { icmp, icmpv6 } masquerade",
			Drop("shadowing")),
		chain("inet", "unshadow", "type filter hook postrouting priority srcnat + 5; policy accept;",
			"ct state new ct status snat meta l4proto . th sport @taken "+Drop("shadowing")),
	}
}

// Masquerades reports whether the object is among these chains.
func Masquerades(f heddle.Firewall) bool { return f.Kind == "chain" && f.Name == "masquerading" }

// sourceRules are the rules for packets that get another address of the host.
func sourceRules(match, ip string, source netip.Addr) []string {
	return []string{
		fmt.Sprintf("%s %ssnat %s to %s", match, withPorts, ip, socketRange(source)),
		fmt.Sprintf("%s meta l4proto { icmp, icmpv6 } snat %s to %s", match, ip, source),
		match + " " + Drop("shadowing"),
	}
}

// socketRange is an address with the port range of masquerading, in the syntax of nft.
func socketRange(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]:" + masqueradePorts()
	}
	return a.String() + ":" + masqueradePorts()
}

func takenPort(s heddle.Socket) heddle.Element {
	return heddle.Element{Family: "inet", Set: SetTaken, Match: []string{s.Protocol, fmt.Sprint(s.Port)}}
}

// Listening keeps masquerading from using the ports of the host's own sockets in its range.
func Listening(h heddle.HostFacts) []heddle.Element {
	var all []heddle.Element
	for _, s := range h.Listening {
		all = append(all, takenPort(s))
	}
	return all
}

// takenPorts keep masquerading from using published ports in its range.
func takenPorts(ports []heddle.PortMapping) []heddle.Element {
	var all []heddle.Element
	for i, p := range ports {
		again := func(q heddle.PortMapping) bool { return q.Protocol == p.Protocol && q.HostPort == p.HostPort }
		if p.HostPort >= FirstMasqueradePort && !slices.ContainsFunc(ports[:i], again) {
			all = append(all, takenPort(heddle.Socket{Protocol: p.Protocol, Port: p.HostPort}))
		}
	}
	return all
}
