package heddle

import (
	"fmt"
	"net/netip"
	"strconv"
)

// Flow is what a packet says of who sends what to whom, and what policies say to that. Addresses, ports and size are the packet's own words.
type Flow struct {
	// Direction is ingress or egress, as seen from the endpoint at whose port the packet was.
	Direction string `json:"direction"`
	// Protocol is tcp, udp, sctp, icmp (of both IP versions), the number of another one, or the EtherType of what is no IP (0x88cc).
	Protocol string     `json:"protocol"`
	Src      netip.Addr `json:"src,omitzero"`
	Dst      netip.Addr `json:"dst,omitzero"`
	SrcPort  uint16     `json:"srcPort,omitempty"`
	DstPort  uint16     `json:"dstPort,omitempty"`
	// Type is that of ICMP, by name or number.
	Type string `json:"type,omitempty"`
	// Bytes is the size of the IP packet.
	Bytes int `json:"bytes,omitempty"`
	// Policies are those that close the endpoint in that direction. Policy and Rule (from 1) decided; "" and 0 if no rule fits.
	Policies []string `json:"policies,omitempty"`
	Policy   string   `json:"policy,omitempty"`
	Rule     int      `json:"rule,omitempty"`
	// Why says what decided.
	Why string `json:"why"`
}

// String is the flow in words.
func (f Flow) String() string {
	end := func(a netip.Addr, port uint16) string {
		if port != 0 {
			return netip.AddrPortFrom(a, port).String()
		}
		return a.String()
	}
	what := f.Protocol
	if f.Type != "" {
		what += "/" + f.Type
	}
	if f.Src.IsValid() {
		what += fmt.Sprintf(" %s to %s", end(f.Src, f.SrcPort), end(f.Dst, f.DstPort))
	}
	if f.Bytes > 0 {
		what += ", " + strconv.Itoa(f.Bytes) + " bytes"
	}
	return f.Direction + " " + what + ": " + f.Why
}
