package firewall

// How the rules for ports with a policy find in a packet what they need, and how long they remember it.

// How long a flow is remembered, in seconds: TCP's established and transitory ones (RFC 5382, REQ-5), UDP (RFC 4787, REQ-5), ICMP
// (RFC 5508, REQ-2), SCTP for some of its heartbeats (RFC 9260, 8.3), what is closing, and the rest of a datagram (RFC 8200, 4.5, has
// 60 at the receiver).
const (
	tcpTime, tcpOpening, tcpClosing  = 7440, 240, 30
	udpTime, sctpTime, echoTime      = 120, 300, 60
	fragmentTime                     = 30
	maxTCPFlows, maxFlows, flowsGC   = 262144, 65536, "gc-interval 10s"
	flagsSyn, flagsEnd, laterPiece4  = "tcp flags & (fin | syn | rst | ack) == syn", "tcp flags & (fin | rst) != 0", "ip frag-off & 0x1fff != 0"
	firstPiece4, firstPiece6, piece6 = "ip frag-off & 0x3fff == 0x2000", "ip6 nexthdr 44 frag frag-off 0 frag more-fragments 1", "ip6 nexthdr 44 frag frag-off != 0"
)

// version is how one IP version writes what the rules need. The ports are raw, so that one set serves packets and the packets
// that errors quote.
type version struct {
	digit, ether, ip  string
	addrs, guests     string
	groups            string
	icmpProto         string
	echo, reply       string
	errors, allErrors string
	// routers is a condition that errors of routers fulfil.
	routers string
	// piece is the key of a fragment's datagram, quotedProto where an error quotes the protocol, quotedPorts where the ports, quotedID the id of an echo.
	piece, quotedProto, quotedID string
	quotedPorts                  [2]string
	// forms are the packets whose ports can be found: the condition, source and destination port, and the id of an echo.
	forms []form
}

type form struct{ is, src, dst, id string }

var versions = []version{
	{digit: "4", ether: "ether type ip", ip: "ip", addrs: "addrs4", guests: SetGuests4, groups: "224.0.0.0/4", icmpProto: "1",
		echo: "icmp type echo-request", reply: "icmp type echo-reply", errors: "icmp type { 3, 11, 12 }", allErrors: "icmp type " + icmpErrors,
		piece: "ip saddr . ip daddr . ip id . ip protocol", quotedProto: "@th,136,8", quotedPorts: [2]string{"@th,224,16", "@th,240,16"}, quotedID: "@th,256,16",
		forms: []form{{"", "@nh,160,16", "@nh,176,16", "@nh,192,16"}}},
	{digit: "6", ether: "ether type ip6", ip: "ip6", addrs: "addrs6", guests: SetGuests6, groups: "ff00::/8", icmpProto: "58",
		echo: "icmpv6 type echo-request", reply: "icmpv6 type echo-reply", errors: "icmpv6 type 1-4", allErrors: "icmpv6 type " + icmp6Errors, routers: "ip6 saddr != fe80::/10 ",
		piece: "ip6 saddr . ip6 daddr . frag id", quotedProto: "@th,112,8", quotedPorts: [2]string{"@th,384,16", "@th,400,16"}, quotedID: "@th,416,16",
		forms: []form{{"ip6 nexthdr != 44 ", "@nh,320,16", "@nh,336,16", "@nh,352,16"}, {"ip6 nexthdr 44 ", "@nh,384,16", "@nh,400,16", "@nh,416,16"}}},
}

// from and to are the addresses of a packet, in the order of a key.
func (v version) from() string { return v.ip + " saddr . " + v.ip + " daddr . " }
func (v version) to() string   { return v.ip + " daddr . " + v.ip + " saddr . " }

// flowProtocols are the protocols with a set of flows each, and how long one is remembered.
var flowProtocols = []struct {
	name, number string
	time         int
}{{"tcp", "6", tcpTime}, {"udp", "17", udpTime}, {"sctp", "132", sctpTime}}
