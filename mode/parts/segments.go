package parts

import "github.com/heddle-network/heddle"

// bigSegment is three times the largest length in an IP header, in bytes. With 4 KB pages it is the
// most that the fragments of a packet hold (Linux, include/linux/skbuff.h, MAX_SKB_FRAGS).
const bigSegment = 196608

// BigSegments lets an endpoint's TCP send IPv4 segments of more than 64 KB (BIG TCP, since
// Linux 6.3), which cost less per byte. TCP takes the maximum from its own device, not from
// the whole path. If a NIC or a tunnel on the path takes only 64 KB, the kernel splits each
// segment, which costs more than was saved. So this applies to internal networks, whose
// traffic stays on the host, and to networks with --opt big-tcp=true. IPv6 segments stay as
// they are: a large one has an additional header (RFC 2675). A kernel that routes it counts
// this header into each packet, finds the packets longer than the MTU, and drops them.
func BigSegments(n heddle.Network, p heddle.Plan) heddle.Plan {
	if option := n.Options["big-tcp"]; option == "false" || option == "" && !n.Internal {
		return p
	}
	for _, links := range [][]heddle.Link{p.Host.Links, p.Pod.Links} {
		for i := range links {
			if links[i].Kind == "veth" {
				links[i].GSOMax = bigSegment
			}
		}
	}
	return p
}
