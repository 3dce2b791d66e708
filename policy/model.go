package policy

import (
	"fmt"
	"net/netip"
	"slices"

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
		i := slices.IndexFunc(members, func(m Member) bool { return slices.Contains(m.Addrs, side.own) })
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
	s := Step{Endpoint: m.ID, Direction: d, Allowed: true, Policies: slices.DeleteFunc(all.Selecting(m), func(name string) bool { return !all[name].Closes(d) })}
	if len(s.Policies) == 0 {
		return s
	}
	s.Allowed = false
	for _, r := range all.rulesFor(s.Policies, d) {
		if r.fits(members, other, c) {
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
	return len(r.peers) == 0 || slices.ContainsFunc(r.peers, func(p peer) bool { return p.has(members, other) })
}

func (p peer) has(members []Member, a netip.Addr) bool {
	if p.group != nil {
		return slices.ContainsFunc(members, func(m Member) bool { return slices.Contains(m.Addrs, a) && p.group.Selects(m) })
	}
	return p.cidr.Contains(a) && !slices.ContainsFunc(p.except, func(e netip.Prefix) bool { return e.Contains(a) })
}
