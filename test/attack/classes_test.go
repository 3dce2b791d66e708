package attack_test

import "github.com/heddle-network/heddle/firewall"

// class is a kind of vulnerability, or of incident, that the field knows.
type class struct {
	id, title string
	// known is where it was seen: CVEs, RFCs, reports.
	known string
	// elsewhere says which other suite concerns itself with it, or why none
	// can: what is not on one host, or not there yet.
	elsewhere string
	// limit is what is admitted besides the tests that are limits.
	limit string
}

// classes are all of them; docs/attacks.md is made from this list and the tests.
var classes = []class{
	{id: "ra", title: "Rogue IPv6 router advertisement", known: "CVE-2020-10749, CVE-2020-13401, CVE-2020-13597, CVE-2020-11091; RFC 6104, RFC 6105"},
	{id: "redirect", title: "ICMP and IPv6 redirects", known: "RFC 1122 3.2.2.2, RFC 4861 8"},
	{id: "nd", title: "Neighbour discovery spoofing", known: "RFC 3756; moby #33789"},
	{id: "arp", title: "ARP spoofing", known: "kubernetes #43953, cilium #27955"},
	{id: "mac", title: "MAC address spoofing", known: "plugins #639, antrea #200"},
	{id: "cam", title: "Flood of MAC addresses", known: "macof(8); IEEE 802.1D 7.9"},
	{id: "ip", title: "IP source address spoofing", known: "RFC 2827, RFC 3704; cilium #27955"},
	{id: "v6-off", title: "IPv6 alive on an IPv4-only network", known: "CVE-2024-32473"},
	{id: "dhcp", title: "Rogue DHCP and DHCPv6 server", known: "RFC 3118, RFC 7610; CVE-2024-3661"},
	{id: "option", title: "Routes from a DHCP server", known: "CVE-2024-3661"},
	{id: "lease", title: "Answers of a DHCP server to the agent, from others or with what is not the LAN's", known: "RFC 2131 7, RFC 5227; CVE-2011-0997", limit: "who answers first is believed: DHCP does not say who may answer"},
	{id: "advertised", title: "Router advertisements to the agent, from others or with what is not the LAN's", known: "RFC 4861 6.1.2, RFC 6104, RFC 6105, RFC 3756", limit: "who advertises himself is a router: neighbour discovery does not say who may"},
	{id: "fragment", title: "Headers hidden by fragments, cut short, or of unusual form", known: "RFC 1858, RFC 5722, RFC 6980, RFC 7112, RFC 7113; CVE-2021-27853, CVE-2021-27854"},
	{id: "ethertype", title: "VLAN tags, QinQ and other ethertypes", known: "CVE-2021-27853, CVE-2021-27854, CVE-2021-27861, CVE-2021-27862"},
	{id: "control", title: "Spanning tree, LLDP, pause frames", known: "IEEE 802.1D, 802.1AB, 802.3x"},
	{id: "group", title: "Multicast: forged IGMP and MLD queriers", known: "RFC 2236, RFC 2710, RFC 4541"},
	{id: "flood", title: "Broadcast and frames to others", known: "IEEE 802.1D"},
	{id: "size", title: "Oversized frames", known: "RFC 894"},
	{id: "loopback", title: "Loopback reachable from neighbours", known: "CVE-2020-8558; moby #45610"},
	{id: "isolation", title: "Containers of other networks, and their gateways", known: "moby #22054; CVE-2025-54410"},
	{id: "internal", title: "Way out of an internal network", known: "CVE-2024-29018"},
	{id: "source-route", title: "Source routing", known: "RFC 791 3.1, RFC 5095, RFC 8754; CVE-2021-31440"},
	{id: "conntrack", title: "Forged members of others' connections", known: "RFC 5927; NAT slipstreaming (CVE-2020-28041)"},
	{id: "shadow", title: "Masqueraded connections laid over ports of the host", known: "CVE-2021-3773; RFC 5382, RFC 4787"},
	{id: "error", title: "Forged ICMP errors", known: "RFC 5927; CVE-2004-0790, CVE-2004-1060"},
	{id: "tunnel", title: "Tunnels, routing and redundancy protocols to the host", known: "RFC 7348 7, RFC 5798 9; CVE-2020-10136, CVE-2024-7595"},
	{id: "underlay", title: "Encapsulated packets between hosts, from whoever sends them", known: "RFC 7348 7; CVE-2020-10136, CVE-2024-7595", limit: "a machine on the underlay that can send with a host's address can send for its containers"},
	{id: "keeper", title: "The hosts' store and join door within a container's reach", known: "field", limit: "a macvlan, ipvlan or direct container reaches those of other hosts by the LAN, where no rule of its host sees it, a direct container those of its own host, too: what keeps it out is their TLS"},
	{id: "lan", title: "Unpublished or loopback-bound ports, from the LAN", known: "moby #48724, #49325, #52224"},
	{id: "portmap", title: "Port mapping too broad", known: "CVE-2025-67499, CVE-2019-9946"},
	{id: "port", title: "Published ports that take over those of the host", known: "kubernetes #97910"},
	{id: "own-end", title: "The container changes its own end of the link", known: "CAP_NET_ADMIN in the container's namespace"},
	{id: "keep", title: "A container that keeps what it had after its detach", known: "CAP_NET_ADMIN in the container's namespace; field"},
	{id: "reuse", title: "Addresses of those who left", known: "contiv/vpp #573; moby #52661"},
	{id: "exhaust", title: "Exhaustion of the host's tables", known: "arp(7) gc_thresh; nf_conntrack_max"},
	{id: "share", title: "More than the limit of an endpoint, in frames that are not counted", known: "containernetworking/plugins bandwidth; fast paths that pass by qdiscs"},
	{id: "flush", title: "Firewall flushed or reloaded", known: "CVE-2025-54388, CVE-2025-54410", limit: firewall.LimitFlush},
	{id: "path", title: "Injection through ids, names and paths", known: "CVE-2021-20206, CVE-2025-52881, CVE-2019-5736"},
	{id: "socket", title: "Control sockets within a container's reach", known: "CVE-2020-15257, CVE-2025-9074"},
	{id: "parser", title: "Malformed and slow requests", known: "slowloris"},
	{id: "token", title: "A join token that was stolen", known: "docs/adr/0023-keys.md; Kubernetes' bootstrap tokens; CWE-522"},
	{id: "authority", title: "A host's keys that were stolen, for the cluster's", known: "docs/adr/0023-keys.md; CWE-269"},
	{id: "word", title: "A host's keys that were stolen, for the networks that hosts share", known: "docs/adr/0024-words-of-others.md; CWE-732"},
	{id: "asker", title: "Questions for names that others may ask", known: "RFC 5452 9; CVE-2024-29018"},
	{id: "echo", title: "Answers of a container to echoes that the operator has sent from it", known: "field", limit: "a container can answer echoes that are sent from it in anybody's name: what 'heddle ping' says of an echo is the word of who answers, and the path alone is the agent's"},
	{id: "churn", title: "Floods of events", known: "netlink(7) ENOBUFS"},
	{id: "freeze", title: "Records of one host that keep the agents of the others busy", known: "field"},
	{id: "question", title: "Questions for names, in the name of others, and from outside", known: "RFC 5358, RFC 5452; CVE-2024-29018"},
	{id: "metadata", title: "Metadata service of the cloud", known: "credential theft through 169.254.169.254"},
	{id: "records", title: "Records that a host of the cluster writes", known: "field: one peer's word taken for routes, as in BGP leaks (RFC 7908)"},

	{id: "next-hop", title: "A next hop of a VPC's route that forges, loops or is gone, and those who would be one", known: "field: the source/destination check of clouds' NICs, RFC 2827", elsewhere: "test/vpc (TestRouteAttacks, TestNextHopGone): a next hop sends, asks and reports errors from beyond it and from nowhere else, never as another endpoint, network, peer or route; nobody else sends from there; what comes back goes round no more; who gets a gone next hop's address gets no packet; peers reach nothing beyond it"},
	{id: "way-out", title: "A VPC that leaves by its host, and those outside who would come in", known: "field: the metadata services of clouds, RFC 2827, RFC 6890", elsewhere: "test/vpc (TestOut): by its way out a VPC reaches no other VPC, no container of the host's but at its published ports, and no metadata service; what it sends has its one address on the link, whatever root in its namespace sends; nobody outside, the host among them, begins anything with a VPC, whatever routes there are; peers do not leave by it"},
	{id: "window", title: "Start-up window without guard", known: "CVE-2023-27595", elsewhere: "test/modes: ports come up behind their guard; the agent is killed before every step (test/crash), and the guard is the kernel's, so it stays"},
	{id: "policy", title: "Ways past a policy, and floods that hide what it refuses", known: "RFC 1858, RFC 3128, RFC 7112, RFC 8200 4.5", elsewhere: "TestAttacks, TestHiddenPorts, TestUnderFire, TestFullTable and TestFlowFlood of test/policy: what no rule allows does not come, in whatever form, nor while ports come and go; who fills the table of flows, or floods a port with what is refused, neither ends others' flows nor hides what is refused to others"},
	{id: "havip", title: "Addresses that several endpoints share", known: "RFC 5227, RFC 5798 9", elsewhere: "TestAttacks, TestFight and TestDeniedMembers of test/havip: who is no member neither announces the address nor sends from it, whatever the form; members that fight change the holder no more often than bounded; a policy that denies members denies the address"},
	{id: "rights", title: "Over-privileged agent", known: "CVE-2020-26278", elsewhere: "test/hardship runs the agent with the capabilities of its unit"},
	{id: "nic", title: "A moved NIC returns with the container's settings", known: "field", elsewhere: "test/direct compares the NIC before and after, in all that netlink, ethtool and sysctl show of it, whatever the container and its death did to it"},
	{id: "tenant", title: "Attachment by tenants", known: "multus #224", elsewhere: "no tenants: whoever may use the socket is root or in its group"},
	{id: "resolver", title: "Exfiltration through the resolver", known: "CVE-2024-29018", elsewhere: "the tests of package resolver: sources that are no endpoint of the network get nothing, containers of an internal network are refused what would be asked outside, other networks' names are not there, replies that are forged or point into a network are not passed on, floods delay nobody else"},
	{id: "service", title: "Service hijack", known: "CVE-2020-8554", elsewhere: "there are no services"},
	{id: "overlay", title: "Clear text on an encrypted overlay", known: "CVE-2023-28840, CVE-2023-28841, CVE-2023-28842, CVE-2024-25630, CVE-2024-25631, CVE-2025-32793", elsewhere: "the overlay is not encrypted, and says so (heddle network show)"},
	{id: "store", title: "Store and gossip without authentication", known: "field", elsewhere: "the tests of packages store and join: strangers, wrong tokens, other authorities, expired certificates"},
	{id: "host", title: "A host of the cluster that was taken over", known: "field", elsewhere: "what it writes is judged by value (class records above, test/fleet); what is well formed is believed: a host's keys can write pins for other hosts' addresses, and claim free blocks (docs/adr/0023-keys.md, 0024-words-of-others.md), and so draw the traffic of shared networks to that host until it is removed"},
	{id: "diagnostics", title: "Diagnostics leak keys", known: "CVE-2026-41520", elsewhere: "TestDiagnostics of test/join looks for tokens and private keys in logs of level debug, metrics, refusals, and what status, doctor, audit and host list say"},
}
