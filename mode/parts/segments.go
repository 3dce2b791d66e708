package parts

import "github.com/heddle-network/heddle"

// bigSegment is three times what an IP header can tell, in bytes: with 4 KB pages the
// most that a packet's fragments hold (Linux, include/linux/skbuff.h, MAX_SKB_FRAGS).
const bigSegment = 196608

// BigSegments has an endpoint's TCP hand over IPv4 segments beyond 64 KB (BIG TCP,
// since Linux 6.3), which cost less by the byte. TCP asks the device for the size, not
// the way that a packet takes: where a NIC or a tunnel takes only 64 KB, the kernel
// cuts such a segment up into packets, which costs more than it saved. So it is for
// networks all of whose traffic stays on the host (internal ones), or by
// --opt big-tcp=true. Segments of IPv6 stay as they are: such a one bears a header more
// (RFC 2675), which the kernel that routes it counts into each of its packets; it
// takes them for longer than the MTU, and drops all.
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
