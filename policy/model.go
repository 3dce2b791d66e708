package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// Connection is what somebody sends first.
type Connection struct {
	Src, Dst netip.Addr
	// Protocol is tcp, udp, sctp or icmp; Port the destination's; Type that of ICMP.
	Protocol string
	Port     uint16
	Type     string
}

func (c Connection) String() string {
	switch {
	case c.Protocol == "icmp":
		return fmt.Sprintf("%s to %s, icmp/%s", c.Src, c.Dst, c.Type)
	}
	return fmt.Sprintf("%s to %s, %s/%d", c.Src, c.Dst, c.Protocol, c.Port)
}

// ParseService reads what a connection is to: tcp/443, udp/53, sctp/3868, icmp/echo-request.
func ParseService(text string) (c Connection, err error) {
	protocol, rest, _ := strings.Cut(text, "/")
	c.Protocol = protocol
	p, isPort := parsePorts(rest)
	_, isType := icmpTypes[rest]
	switch {
	case protocol == "icmp" && isType:
		c.Type = rest
	case protocol != "icmp" && slices.Contains(protocols, protocol) && isPort && p.first == p.last:
		c.Port = p.first
	default:
		return c, heddle.Errorf(heddle.BadArgument, "read service", fmt.Sprintf("%q", heddle.Clip(text)), "it is no PROTOCOL/PORT and no icmp/TYPE", "give one such as tcp/443, udp/53, sctp/3868 or icmp/echo-request")
	}
	return c, nil
}

// Question asks whether Src may begin a connection to Dst, which are IP addresses or IDs of endpoints, CONTAINER/IF.
type Question struct {
	Src     string `json:"src"`
	Dst     string `json:"dst"`
	Service string `json:"service"`
}

// Answer is a connection and what became of it: one for each IP version that both ends have.
type Answer struct {
	Src netip.Addr `json:"src"`
	Dst netip.Addr `json:"dst"`
	Verdict
}

// Ask answers a question.
func (all Policies) Ask(members []Member, q Question) ([]Answer, error) {
	c, err := ParseService(q.Service)
	if err != nil {
		return nil, err
	}
	src, err := addressesOf(members, q.Src)
	if err != nil {
		return nil, err
	}
	dst, err := addressesOf(members, q.Dst)
	if err != nil {
		return nil, err
	}
	var answers []Answer
	for _, f := range heddle.Families() {
		i, j := slices.IndexFunc(src, f.Has), slices.IndexFunc(dst, f.Has)
		if i < 0 || j < 0 {
			continue
		}
		c.Src, c.Dst = src[i], dst[j]
		answers = append(answers, Answer{c.Src, c.Dst, all.Decide(members, c)})
	}
	if answers == nil {
		return nil, heddle.Errorf(heddle.BadArgument, "test policies", q.Src+" to "+q.Dst, "they have no addresses of one IP version", "name two that could talk")
	}
	return answers, nil
}

// addressesOf are the addresses of an endpoint, or the one address that the word is.
func addressesOf(members []Member, word string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(word); err == nil {
		return []netip.Addr{a.Unmap().WithZone("")}, nil
	}
	id, err := heddle.ParseEndpointID(word)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(members, func(m Member) bool { return m.ID == id })
	if i < 0 {
		return nil, heddle.Errorf(heddle.NoEndpoint, "find endpoint", heddle.Clip(word), "", "name one of 'heddle endpoint list', or an IP address")
	}
	return members[i].Addrs, nil
}

// Verdict is whether a connection is allowed, and what the endpoints' policies say, in the order in which a packet meets them.
type Verdict struct {
	Allowed bool   `json:"allowed"`
	Steps   []Step `json:"steps"`
}

// Step is what the policies of one endpoint say of a connection.
type Step struct {
	Endpoint  heddle.EndpointID `json:"endpoint"`
	Direction Direction         `json:"direction"`
	Allowed   bool              `json:"allowed"`
	// Policies are those that select the endpoint for the direction. Policy and Rule (from 1) are what decides: "" and 0 if no policy
	// selects it, or if no rule fits.
	Policies []string `json:"policies,omitempty"`
	Policy   string   `json:"policy,omitempty"`
	Rule     int      `json:"rule,omitempty"`
}

// Why says what decided.
func (s Step) Why() string {
	switch {
	case s.Rule > 0:
		return fmt.Sprintf("rule %d of policy %s", s.Rule, s.Policy)
	case len(s.Policies) == 0:
		return "no policy selects it"
	}
	return "no rule of " + heddle.List(s.Policies) + " allows it"
}

// Decide answers whether a connection is allowed: at the port of the sender, and at that of the receiver. Addresses that no endpoint of the host
// has are somebody outside.
func (all Policies) Decide(members []Member, c Connection) Verdict {
	v := Verdict{Allowed: true, Steps: []Step{}}
	for _, side := range []struct {
		own, other netip.Addr
		direction  Direction
	}{{c.Src, c.Dst, Egress}, {c.Dst, c.Src, Ingress}} {
		i := slices.IndexFunc(members, func(m Member) bool { return slices.Contains(m.Addrs, side.own) || slices.Contains(m.Held, side.own) })
		if i < 0 || !v.Allowed {
			continue
		}
		s := all.step(members, members[i], side.direction, side.other, c)
		v.Allowed = s.Allowed
		v.Steps = append(v.Steps, s)
	}
	return v
}

func (all Policies) step(members []Member, m Member, d Direction, other netip.Addr, c Connection) Step {
	return all.closing(all.closedBy(m, d), d).step(members, m, d, other, c)
}

// closedBy are the names of the policies that close an endpoint in a direction.
func (all Policies) closedBy(m Member, d Direction) []string {
	return slices.DeleteFunc(all.Selecting(m), func(name string) bool { return !all[name].Closes(d) })
}

// closing are policies that close endpoints in a direction, and their rules in the order in which they are asked.
type closing struct {
	names []string
	rules []rule
}

func (all Policies) closing(names []string, d Direction) closing {
	return closing{names, all.rulesFor(names, d)}
}

func (p closing) step(members []Member, m Member, d Direction, other netip.Addr, c Connection) Step {
	s := Step{Endpoint: m.ID, Direction: d, Allowed: len(p.names) == 0, Policies: p.names}
	var having []Member // all rules ask about the same address
	for _, m := range members {
		if slices.Contains(m.Addrs, other) || slices.Contains(m.Shared, other) {
			having = append(having, m)
		}
	}
	for _, r := range p.rules {
		if r.fits(having, other, c) {
			s.Allowed, s.Policy, s.Rule = !r.deny, r.policy, r.number
			break
		}
	}
	return s
}

// fits reports whether the rule is about the connection.
func (r rule) fits(members []Member, other netip.Addr, c Connection) bool {
	if r.protocol != "" && r.protocol != c.Protocol ||
		len(r.ports) > 0 && !slices.ContainsFunc(r.ports, func(p ports) bool { return p.has(c.Port) }) ||
		len(r.types) > 0 && !slices.Contains(r.types, c.Type) {
		return false
	}
	return len(r.peers) == 0 || slices.ContainsFunc(r.peers, func(p peer) bool { return p.has(members, other, r.deny) })
}

func (p peer) has(members []Member, a netip.Addr, denied bool) bool {
	if p.group != nil {
		return slices.ContainsFunc(members, func(m Member) bool {
			return (slices.Contains(m.Addrs, a) || denied && slices.Contains(m.Shared, a)) && p.group.Selects(m)
		})
	}
	return p.cidr.Contains(a) && !slices.ContainsFunc(p.except, func(e netip.Prefix) bool { return e.Contains(a) })
}
