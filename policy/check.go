package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// The bounds of policies: of one host, and of the lists in one.
const (
	MaxPolicies = 1000
	maxRules    = 256
	maxPeers    = 256
	maxExcept   = 64
	maxPorts    = 64
	maxWords    = 64
)

// wrong is what is wrong with a policy, and the keys that lead to it.
type wrong struct {
	keys        []string
	why, remedy string
}

// Check refuses a policy that says what no policy can say. Its error names the key.
func (p Policy) Check() error {
	if w := p.wrong(); w != nil {
		return heddle.Errorf(heddle.BadPolicy, "check policy", heddle.Clip(p.Name), strings.Join(w.keys, ".")+": "+w.why, w.remedy)
	}
	return nil
}

// wrong finds the first thing that is wrong with the policy; nil if it is well.
func (p Policy) wrong() *wrong {
	if heddle.CheckNetworkName(p.Name) != nil {
		return &wrong{[]string{"name"}, fmt.Sprintf("%q is no name", heddle.Clip(p.Name)), "use letters, digits, '_', '.', '-', at most 64 bytes, starting with a letter or digit"}
	}
	if w := p.Endpoints.wrong("endpoints"); w != nil {
		return w
	}
	for i, d := range p.Directions {
		if d != Ingress && d != Egress || slices.Contains(p.Directions[:i], d) {
			return &wrong{[]string{"directions", strconv.Itoa(i + 1)}, fmt.Sprintf("%q is none of ingress and egress, or was given before", heddle.Clip(string(d))), "give each at most once"}
		}
	}
	if len(p.Directions)+len(p.Rules) == 0 {
		return &wrong{[]string{"rules"}, "there are neither rules nor directions", "give rules; to close the endpoints for all, directions: [ingress, egress]"}
	}
	if len(p.Rules) > maxRules {
		return tooMany("rules", len(p.Rules), maxRules)
	}
	for i, r := range p.Rules {
		w := r.wrong()
		if w == nil && len(p.Directions) > 0 && !slices.Contains(p.Directions, r.Direction) {
			w = &wrong{[]string{"direction"}, "it is none of the policy's directions", "add it to directions, or leave the rule out"}
		}
		if w != nil {
			return w.in("rules", strconv.Itoa(i+1))
		}
	}
	return nil
}

func (w *wrong) in(keys ...string) *wrong {
	w.keys = append(slices.Clone(keys), w.keys...)
	return w
}

func tooMany(key string, n, most int) *wrong {
	return &wrong{[]string{key}, fmt.Sprintf("there are %d", n), fmt.Sprintf("give at most %d", most)}
}

// Check refuses a selector that selects nothing, or that nothing can say.
func (s Selector) Check(op, object string) error {
	if w := s.wrong("members"); w != nil {
		return heddle.Errorf(heddle.BadArgument, op, heddle.Clip(object), strings.Join(w.keys, ".")+": "+w.why, w.remedy)
	}
	return nil
}

func (s Selector) wrong(key string) *wrong {
	if s.Empty() {
		return &wrong{[]string{key}, "it selects nothing", "give networks, labels or names"}
	}
	for _, list := range []struct {
		key   string
		words []string
	}{{"networks", s.Networks}, {"names", s.Names}} {
		if len(list.words) > maxWords {
			return tooMany(list.key, len(list.words), maxWords).in(key)
		}
		for i, word := range list.words {
			if word == "" || len(word) > 253 {
				return (&wrong{[]string{list.key, strconv.Itoa(i + 1)}, "it is empty or longer than 253 bytes", "give a name"}).in(key)
			}
		}
	}
	if err := heddle.CheckLabels("the selector", s.Labels); err != nil {
		return (&wrong{[]string{"labels"}, heddle.SentenceOf(err), "give labels that endpoints can have"}).in(key)
	}
	return nil
}

func (r Rule) wrong() *wrong {
	switch {
	case r.Direction != Ingress && r.Direction != Egress:
		return &wrong{[]string{"direction"}, fmt.Sprintf("%q is none of ingress and egress", heddle.Clip(string(r.Direction))), "give one of them"}
	case r.Action != Allow && r.Action != Deny:
		return &wrong{[]string{"action"}, fmt.Sprintf("%q is none of allow and deny", heddle.Clip(string(r.Action))), "give one of them"}
	case r.Priority != nil && (*r.Priority < 0 || *r.Priority > MaxPriority):
		return &wrong{[]string{"priority"}, fmt.Sprintf("%d is no number from 0 to %d", *r.Priority, MaxPriority), "give one; the lowest is asked first"}
	case r.Protocol != "" && !slices.Contains(protocols, r.Protocol):
		return &wrong{[]string{"protocol"}, fmt.Sprintf("%q is none of %s", heddle.Clip(r.Protocol), strings.Join(protocols, ", ")), "give one of them, or leave it out for all"}
	case len(r.Ports) > maxPorts:
		return tooMany("ports", len(r.Ports), maxPorts)
	case len(r.Ports) > 0 && (r.Protocol == "" || r.Protocol == "icmp"):
		return &wrong{[]string{"ports"}, "ports are of a protocol that has ports", "give protocol: tcp, udp or sctp"}
	case len(r.Types) > 0 && r.Protocol != "icmp":
		return &wrong{[]string{"types"}, "types are of icmp", "give protocol: icmp"}
	case len(r.Peers) > maxPeers:
		return tooMany("peers", len(r.Peers), maxPeers)
	}
	for i, text := range r.Ports {
		if _, ok := parsePorts(text); !ok {
			return &wrong{[]string{"ports", strconv.Itoa(i + 1)}, fmt.Sprintf("%q is no port from 1 to 65535 and no range of them", heddle.Clip(text)), "give PORT or FIRST-LAST"}
		}
	}
	for i, text := range r.Types {
		if _, known := icmpTypes[text]; !known {
			return &wrong{[]string{"types", strconv.Itoa(i + 1)}, fmt.Sprintf("%q is no type", heddle.Clip(text)), "give echo-request, echo-reply, timestamp-request or timestamp-reply; errors pass with the flow that they are about"}
		}
	}
	for i, p := range r.Peers {
		if w := p.wrong(); w != nil {
			return w.in("peers", strconv.Itoa(i+1))
		}
	}
	return nil
}

func (p Peer) wrong() *wrong {
	switch {
	case (p.CIDR == "") == (p.Endpoints == nil):
		return &wrong{nil, "it has both cidr and endpoints, or neither", "give one of them"}
	case p.Endpoints != nil && len(p.Except) > 0:
		return &wrong{[]string{"except"}, "exceptions are of a cidr", "leave them out"}
	case p.Endpoints != nil:
		return p.Endpoints.wrong("endpoints")
	case len(p.Except) > maxExcept:
		return tooMany("except", len(p.Except), maxExcept)
	}
	cidr, ok := parseCIDR(p.CIDR)
	if !ok {
		return &wrong{[]string{"cidr"}, fmt.Sprintf("%q is no prefix, or has bits beyond its length", heddle.Clip(p.CIDR)), "give one such as 10.0.0.0/8 or fd00::/8"}
	}
	for i, text := range p.Except {
		e, ok := parseCIDR(text)
		if !ok || !cidr.Contains(e.Addr()) || e.Bits() <= cidr.Bits() {
			return &wrong{[]string{"except", strconv.Itoa(i + 1)}, fmt.Sprintf("%q is no part of %s", heddle.Clip(text), p.CIDR), "give a longer prefix inside the cidr"}
		}
	}
	return nil
}

// parseCIDR reads a prefix of IPv4 or IPv6. One of IPv4-mapped addresses would fit no packet.
func parseCIDR(text string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(text)
	return p, err == nil && p == p.Masked() && !p.Addr().Is4In6()
}
