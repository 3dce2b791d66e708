package heddle

import (
	"fmt"
	"net/netip"
	"strings"
)

// protocolNumbers are the protocols whose ports can be published, with their numbers in IP.
var protocolNumbers = map[string]byte{"tcp": 6, "udp": 17, "sctp": 132}

// ProtocolNumber returns the number that a protocol has in IP; ok is false if its ports cannot be
// published.
func ProtocolNumber(name string) (number byte, ok bool) {
	number, ok = protocolNumbers[name]
	return number, ok
}

// ProtocolName is the inverse of ProtocolNumber, "" for other protocols.
func ProtocolName(number int) string {
	for name, n := range protocolNumbers {
		if int(n) == number {
			return name
		}
	}
	return ""
}

// PortMapping publishes a port of an endpoint on the host.
type PortMapping struct {
	// HostIP restricts the mapping to one address of the host; the zero value
	// means all of them.
	HostIP netip.Addr `json:"hostIP,omitzero"`
	// HostPort is the port of the host. A request may leave the choice to the agent: 0 asks for
	// any free port.
	HostPort uint16 `json:"hostPort"`
	// HostPortEnd, in a request, makes HostPort the first port of a range that ends here: the first
	// free port of it is published.
	HostPortEnd   uint16 `json:"hostPortEnd,omitempty"`
	ContainerPort uint16 `json:"containerPort"`
	// Protocol is "tcp", "udp" or "sctp".
	Protocol string `json:"protocol"`
}

// IsOpen reports whether the request leaves the choice of the host's port to the agent.
func (p PortMapping) IsOpen() bool { return p.HostPort == 0 || p.HostPortEnd > p.HostPort }

// IsAt reports whether the port is published at an address of the host, if the host has it.
func (p PortMapping) IsAt(a netip.Addr) bool {
	return !p.HostIP.IsValid() || p.HostIP == a || p.HostIP.IsUnspecified() && FamilyOf(p.HostIP) == FamilyOf(a)
}

// Admits reports whether the mapping q, whose host port is chosen, is what p asks for.
func (p PortMapping) Admits(q PortMapping) bool {
	fits := p.HostPort == 0 || q.HostPort >= p.HostPort && q.HostPort <= max(p.HostPort, p.HostPortEnd)
	return fits && p.HostIP == q.HostIP && p.ContainerPort == q.ContainerPort && p.Protocol == q.Protocol
}

func (p PortMapping) String() string {
	host := ""
	if p.HostIP.IsValid() {
		host = p.HostIP.String() + ":"
		if p.HostIP.Is6() {
			host = "[" + p.HostIP.String() + "]:"
		}
	}
	ports := fmt.Sprint(p.HostPort)
	if p.HostPortEnd > p.HostPort {
		ports += fmt.Sprintf("-%d", p.HostPortEnd)
	}
	return fmt.Sprintf("%s%s:%d/%s", host, ports, p.ContainerPort, p.Protocol)
}

// FormatPorts writes mappings as --publish takes them, consecutive ones as a range.
func FormatPorts(all []PortMapping) (words []string) {
	for i := 0; i < len(all); {
		first, n := all[i], 1
		for i+n < len(all) && all[i+n].follows(first, n) {
			n++
		}
		if i += n; n > 1 {
			last := all[i-1]
			first.HostPortEnd = last.HostPort
			word := strings.TrimSuffix(first.String(), "/"+first.Protocol)
			words = append(words, fmt.Sprintf("%s-%d/%s", word, last.ContainerPort, first.Protocol))
			continue
		}
		words = append(words, first.String())
	}
	return words
}

// follows reports whether p is first with both ports n higher.
func (p PortMapping) follows(first PortMapping, n int) bool {
	host, container := int(p.HostPort)-int(first.HostPort), int(p.ContainerPort)-int(first.ContainerPort)
	p.HostPort, p.ContainerPort = first.HostPort, first.ContainerPort
	return p == first && host == n && container == n
}
