package ping

import (
	"fmt"
	"net/netip"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/heddle-network/heddle"
)

// Outcome is what became of an echo.
type Outcome string

// The outcomes. All but NotSent and Unanswered are what somebody has answered, whoever says so.
const (
	Reply       Outcome = "reply"
	Unreachable Outcome = "unreachable"
	Exceeded    Outcome = "ttl-exceeded"
	TooBig      Outcome = "too-big"
	Unanswered  Outcome = "unanswered"
	NotSent     Outcome = "not-sent"
)

// Echo is an echo and what became of it.
type Echo struct {
	// Seq counts from 1.
	Seq     int     `json:"seq"`
	Outcome Outcome `json:"outcome"`
	// Bytes is the size of the ICMP message.
	Bytes int `json:"bytes"`
	// From is who has answered, by the packet's own word. TTL is the reply's hop limit.
	From netip.Addr `json:"from,omitzero"`
	TTL  int        `json:"ttl,omitempty"`
	// RTTSeconds is the round trip.
	RTTSeconds float64 `json:"rttSeconds,omitempty"`
	// MTU is what a router carries of a packet that was too big, 0 if it does not say.
	MTU int `json:"mtu,omitempty"`
	// Detail is the plain name of an error's code, or why the kernel did not send the echo.
	Detail string `json:"detail,omitempty"`
}

// String is the echo in words, without its number.
func (e Echo) String() string {
	switch e.Outcome {
	case Reply:
		return fmt.Sprintf("%d bytes from %s, TTL %d, %s", e.Bytes, e.From, e.TTL, Milliseconds(e.RTTSeconds))
	case Unreachable:
		return fmt.Sprintf("destination unreachable, says %s: %s", e.From, e.Detail)
	case Exceeded:
		return fmt.Sprintf("TTL exceeded, says %s: %s", e.From, e.Detail)
	case TooBig:
		carries := "which size it carries is unknown"
		if e.MTU > 0 {
			carries = fmt.Sprintf("it carries %d bytes", e.MTU)
		}
		return fmt.Sprintf("packet too big, says %s: %s", e.From, carries)
	case NotSent:
		return "not sent: " + e.Detail
	}
	return "no answer"
}

// Milliseconds writes a time.
func Milliseconds(seconds float64) string { return fmt.Sprintf("%.3f ms", seconds*1000) }

// The plain names of what the codes of ICMP errors say (RFC 792, RFC 1122, RFC 1812; RFC 4443).
var (
	unreachable4 = []string{"network unreachable", "host unreachable", "protocol unreachable", "port unreachable", "fragmentation needed", "source route failed",
		"network unknown", "host unknown", "source host isolated", "network administratively prohibited", "host administratively prohibited",
		"network unreachable for this type of service", "host unreachable for this type of service", "communication administratively prohibited", "host precedence violation", "precedence cutoff"}
	unreachable6 = []string{"no route to destination", "communication administratively prohibited", "beyond the scope of the source address", "address unreachable", "port unreachable",
		"source address failed the policy", "route rejects the destination", "error in the source routing header"}
	exceeded = []string{"on the way", "while it was put together from fragments"}
)

func name(of []string, code byte) string {
	if int(code) < len(of) {
		return of[code]
	}
	return fmt.Sprintf("code %d", code)
}

// fault reads type and code of an ICMP error; false if it is none that is told. RFC 1191: a code of IPv4 says that a packet is too big.
func fault(f heddle.Family, b []byte) (e Echo, told bool) {
	const fragmentationNeeded = 4
	if f == heddle.IPv4 {
		switch ipv4.ICMPType(b[0]) {
		case ipv4.ICMPTypeDestinationUnreachable:
			if b[1] == fragmentationNeeded {
				return Echo{Outcome: TooBig, MTU: int(b[6])<<8 | int(b[7])}, true
			}
			return Echo{Outcome: Unreachable, Detail: name(unreachable4, b[1])}, true
		case ipv4.ICMPTypeTimeExceeded:
			return Echo{Outcome: Exceeded, Detail: name(exceeded, b[1])}, true
		}
		return e, false
	}
	switch ipv6.ICMPType(b[0]) {
	case ipv6.ICMPTypeDestinationUnreachable:
		return Echo{Outcome: Unreachable, Detail: name(unreachable6, b[1])}, true
	case ipv6.ICMPTypePacketTooBig:
		return Echo{Outcome: TooBig, MTU: int(b[4])<<24 | int(b[5])<<16 | int(b[6])<<8 | int(b[7])}, true
	case ipv6.ICMPTypeTimeExceeded:
		return Echo{Outcome: Exceeded, Detail: name(exceeded, b[1])}, true
	}
	return e, false
}
