package policy

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// rule is a rule that was read: what it says as values.
type rule struct {
	policy    string
	number    int // from 1
	direction Direction
	deny      bool
	priority  int
	protocol  string
	ports     []ports
	types     []string
	peers     []peer // none: everybody
}

// ports are a range of ports.
type ports struct{ first, last uint16 }

func (p ports) has(port uint16) bool { return p.first <= port && port <= p.last }

func (p ports) String() string {
	if p.first == p.last {
		return strconv.Itoa(int(p.first))
	}
	return strconv.Itoa(int(p.first)) + "-" + strconv.Itoa(int(p.last))
}

// peer is addresses or a group.
type peer struct {
	cidr   netip.Prefix
	except []netip.Prefix
	group  *Selector
}

// icmpTypes are the types by name, as numbers of ICMP (RFC 792) and ICMPv6 (RFC 4443); -1 where a family has none. Errors are not among
// them: they pass with the flow that they are about.
var icmpTypes = map[string][2]int{
	"echo-request": {8, 128}, "echo-reply": {0, 129}, "timestamp-request": {13, -1}, "timestamp-reply": {14, -1},
}

// protocols are those that a rule may name.
var protocols = []string{"tcp", "udp", "sctp", "icmp"}

// Protocols are those that a rule may name.
func Protocols() []string { return slices.Clone(protocols) }

// rulesFor are the rules of the named policies for a direction, in the order in which they are asked. The policies were checked.
func (all Policies) rulesFor(names []string, d Direction) []rule {
	var rules []rule
	for _, name := range names {
		for i, r := range all[name].Rules {
			if r.Direction == d {
				rules = append(rules, r.parse(name, i+1))
			}
		}
	}
	slices.SortStableFunc(rules, func(a, b rule) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), deniesFirst(a, b), strings.Compare(a.policy, b.policy), cmp.Compare(a.number, b.number))
	})
	return rules
}

func deniesFirst(a, b rule) int {
	switch {
	case a.deny == b.deny:
		return 0
	case a.deny:
		return -1
	}
	return 1
}

// parse reads a rule that was checked.
func (r Rule) parse(policy string, number int) rule {
	out := rule{policy: policy, number: number, direction: r.Direction, deny: r.Action == Deny, priority: DefaultPriority, protocol: r.Protocol, types: sorted(r.Types)}
	if r.Priority != nil {
		out.priority = *r.Priority
	}
	for _, text := range r.Ports {
		p, _ := parsePorts(text)
		out.ports = append(out.ports, p)
	}
	out.ports = joinPorts(out.ports)
	for _, p := range r.Peers {
		out.peers = append(out.peers, p.parse())
	}
	return out
}

func (p Peer) parse() peer {
	if p.Endpoints != nil {
		return peer{group: p.Endpoints}
	}
	cidr, _ := netip.ParsePrefix(p.CIDR)
	out := peer{cidr: cidr}
	for _, text := range p.Except {
		e, _ := netip.ParsePrefix(text)
		out.except = append(out.except, e)
	}
	out.except = joinPrefixes(out.except)
	return out
}

// parsePorts reads 443 or 8000-8100.
func parsePorts(text string) (ports, bool) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	a, err := strconv.ParseUint(first, 10, 16)
	b, err2 := strconv.ParseUint(last, 10, 16)
	return ports{uint16(a), uint16(b)}, err == nil && err2 == nil && a > 0 && a <= b
}

// joinPorts are the same ports in ranges that do not touch.
func joinPorts(all []ports) []ports {
	slices.SortFunc(all, func(a, b ports) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last)) })
	var out []ports
	for _, p := range all {
		if n := len(out); n > 0 && int(p.first) <= int(out[n-1].last)+1 {
			out[n-1].last = max(out[n-1].last, p.last)
			continue
		}
		out = append(out, p)
	}
	return out
}

// joinPrefixes leaves out prefixes that lie in others.
func joinPrefixes(all []netip.Prefix) []netip.Prefix {
	slices.SortFunc(all, netip.Prefix.Compare) // the shorter of two that begin alike comes first
	var out []netip.Prefix
	for _, p := range all {
		if n := len(out); n == 0 || !out[n-1].Overlaps(p) {
			out = append(out, p)
		}
	}
	return out
}

// String is the rule in words.
func (r Rule) String() string {
	words := []string{string(r.Direction), string(r.Action)}
	if r.Protocol != "" {
		words = append(words, r.Protocol)
	}
	if some := append(slices.Clone(r.Ports), r.Types...); len(some) > 0 {
		words = append(words, strings.Join(some, ","))
	}
	for i, p := range r.Peers {
		word := "and"
		switch {
		case i == 0 && r.Direction == Ingress:
			word = "from"
		case i == 0:
			word = "to"
		}
		words = append(words, word, p.String())
	}
	if r.Priority != nil {
		words = append(words, "priority "+strconv.Itoa(*r.Priority))
	}
	return strings.Join(words, " ")
}

// String is the peer in words.
func (p Peer) String() string {
	switch {
	case p.Endpoints != nil:
		return "endpoints with " + p.Endpoints.String()
	case len(p.Except) > 0:
		return p.CIDR + " without " + strings.Join(p.Except, ", ")
	}
	return p.CIDR
}
