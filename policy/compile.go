package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// Guard is what the host's firewall has to have for its policies, in the order in which it is made: whoever is guarded is so by a
// whole chain, whose groups are whole.
type Guard struct {
	// Groups are sets with their members, Chains what uses them, Ports the ports that are led there.
	Groups, Chains, Ports heddle.State
}

// All are the parts as one state.
func (g Guard) All() heddle.State { return heddle.Append(heddle.Append(g.Groups, g.Chains), g.Ports) }

// Parts are the parts in that order.
func (g Guard) Parts() []heddle.State { return []heddle.State{g.Groups, g.Chains, g.Ports} }

// Compile computes what the firewall needs so that it decides as Decide does. Without an endpoint that a policy selects, it needs nothing. Told
// says that the kernel tells of what is refused.
func (all Policies) Compile(members []Member, told bool) Guard {
	c := compiler{all: all, members: members, chains: map[string]bool{}, groups: map[string]bool{}}
	for _, m := range members {
		if names := all.Selecting(m); len(names) > 0 && m.Port != "" {
			c.port(m, names)
		}
	}
	if len(c.guard.Ports.Elements) == 0 {
		return Guard{}
	}
	holders, chains := firewall.Policed(told)
	c.guard.Groups.Firewall = append(holders, c.guard.Groups.Firewall...)
	c.guard.Chains.Firewall = append(chains, c.guard.Chains.Firewall...)
	for _, m := range members {
		c.addresses("guests%s", m.Addrs)
	}
	return c.guard
}

type compiler struct {
	all            Policies
	members        []Member
	guard          Guard
	chains, groups map[string]bool
}

// port leads a port to the chains of the policies that select its endpoint.
func (c *compiler) port(m Member, names []string) {
	for _, d := range []struct {
		way       string
		set       string
		direction Direction
	}{{"out", firewall.SetPolicedOut, Egress}, {"in", firewall.SetPolicedIn, Ingress}} {
		closing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !c.all[name].Closes(d.direction) })
		chain := "policed-" + hash(closing...) + "-" + d.way
		if !c.chains[chain] {
			c.chains[chain] = true
			c.guard.Chains.Firewall = append(c.guard.Chains.Firewall, c.chain(chain, d.way, d.direction, closing))
		}
		c.guard.Ports.Elements = append(c.guard.Ports.Elements, heddle.Element{Family: "bridge", Set: d.set, Match: []string{m.Port}, Value: []string{"goto " + chain}})
	}
}

// chain has the rules of policies for a direction. Without a policy the direction is open, but its flows are noted, so that they are answered.
func (c *compiler) chain(name, way string, d Direction, closing []string) heddle.Firewall {
	rules := []string{"jump known-" + way}
	for _, r := range c.all.rulesFor(closing, d) {
		verdict := "goto flow-" + way
		if r.deny {
			verdict = firewall.Refuse(way)
		}
		for _, match := range c.matches(r) {
			rules = append(rules, match+verdict)
		}
	}
	if len(closing) == 0 {
		rules = append(rules, "goto flow-"+way)
	} else {
		rules = append(rules, firewall.Refuse(way))
	}
	return heddle.Firewall{Family: "bridge", Kind: "chain", Name: name, Rules: rules}
}

// matches are the conditions of a rule, each with a space at its end.
func (c *compiler) matches(r rule) (all []string) {
	if len(r.peers) == 0 && r.protocol != "icmp" {
		return []string{r.transport(0)}
	}
	side := "saddr "
	if r.direction == Egress {
		side = "daddr "
	}
	for i, f := range heddle.Families() {
		transport := r.transport(i)
		if r.protocol == "icmp" && transport == "" {
			continue // none of its types is of this family
		}
		ip := f.Word() + " " + side
		if len(r.peers) == 0 {
			all = append(all, transport)
			continue
		}
		var plain []netip.Prefix
		for _, p := range r.peers {
			switch {
			case p.group != nil:
				all = append(all, ip+"@"+c.group(*p.group, f, r.deny)+" "+transport)
			case !f.Has(p.cidr.Addr()):
			case len(p.except) > 0:
				all = append(all, in(f, ip, []netip.Prefix{p.cidr})+ip+"!= "+prefixSet(p.except)+transport)
			default:
				plain = append(plain, p.cidr)
			}
		}
		if len(plain) > 0 {
			all = append(all, in(f, ip, joinPrefixes(plain))+transport)
		}
	}
	return all
}

// transport is the condition about protocol, ports and types; family 0 is IPv4, 1 IPv6. For ICMP it is "" if no type is of the family.
func (r rule) transport(family int) string {
	switch {
	case r.protocol == "":
		return ""
	case r.protocol == "icmp" && len(r.types) == 0:
		return []string{"ether type ip meta l4proto 1 ", "ether type ip6 meta l4proto 58 "}[family]
	case r.protocol == "icmp":
		var numbers []string
		for _, t := range r.types {
			if n := icmpTypes[t][family]; n >= 0 {
				numbers = append(numbers, fmt.Sprint(n))
			}
		}
		if len(numbers) == 0 {
			return ""
		}
		return []string{"icmp", "icmpv6"}[family] + " type { " + strings.Join(numbers, ", ") + " } "
	case len(r.ports) == 0:
		return "meta l4proto " + protocolNumbers[r.protocol] + " "
	}
	var words []string
	for _, p := range r.ports {
		words = append(words, p.String())
	}
	return "meta l4proto " + protocolNumbers[r.protocol] + " th dport { " + strings.Join(words, ", ") + " } "
}

// in is the condition that an address is in one of the prefixes.
func in(f heddle.Family, ip string, some []netip.Prefix) string {
	if some[0].Bits() == 0 {
		return "ether type " + f.Word() + " "
	}
	return ip + prefixSet(some)
}

// protocolNumbers are the protocols with ports as nft takes them on a host without /etc/protocols.
var protocolNumbers = map[string]string{"tcp": "6", "udp": "17", "sctp": "132"}

// prefixSet is prefixes as nft writes them, with a space at the end.
func prefixSet(all []netip.Prefix) string {
	words := make([]string, len(all))
	for i, p := range all {
		words[i] = p.String()
	}
	if len(all) == 1 {
		return words[0] + " "
	}
	return "{ " + strings.Join(words, ", ") + " } "
}

// group is the set of a group's addresses of one family, which it makes once.
func (c *compiler) group(s Selector, f heddle.Family, denied bool) string {
	begin := firewall.GroupPrefix + "%s-" + hash(s.key())
	var shared []netip.Addr
	if denied {
		shared = s.shared(c.members)
	}
	if len(shared) > 0 {
		begin += "-shared"
	}
	if !c.groups[begin] {
		c.groups[begin] = true
		for _, family := range heddle.Families() {
			c.guard.Groups.Firewall = append(c.guard.Groups.Firewall, firewall.Group(fmt.Sprintf(begin, family.Digit())))
		}
		for _, m := range c.members {
			if s.Selects(m) {
				c.addresses(begin, m.Addrs)
			}
		}
		c.addresses(begin, shared)
	}
	return fmt.Sprintf(begin, f.Digit())
}

// addresses adds addresses to the sets of both families.
func (c *compiler) addresses(set string, all []netip.Addr) {
	for _, a := range all {
		c.guard.Groups.Elements = append(c.guard.Groups.Elements,
			heddle.Element{Family: "bridge", Set: fmt.Sprintf(set, heddle.FamilyOf(a).Digit()), Match: []string{a.String()}})
	}
}

// hash is short, and differs for different words.
func hash(words ...string) string {
	h := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(h[:8])
}
