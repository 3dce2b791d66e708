package commands

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

func (t typist) address(a heddle.Address) []string {
	how := ""
	switch {
	case a.Prefix.Addr().Is6():
		how = " nodad"
	case a.HostScope:
		how = " scope host"
	}
	return []string{t.ip("address add %s dev %s%s", a.Prefix, a.Link, how)}
}

func (t typist) neighbour(n heddle.Neighbour) []string {
	return []string{t.ip("neighbour replace %s lladdr %s dev %s nud permanent", n.Addr, n.MAC, n.Link)}
}

func (t typist) route(r heddle.Route) []string {
	return []string{t.ip("%sroute add %s", ipFlag(heddle.FamilyOf(r.Dst.Addr())), r.String())}
}

func (t typist) rule(r heddle.Rule) []string {
	return []string{t.ip("%srule add %s", ipFlag(familyOf(r)), r.String())}
}

// ipFlag has ip(8) take what is said as of the family.
func ipFlag(f heddle.Family) string {
	if f == heddle.IPv6 {
		return "-6 "
	}
	return ""
}

// familyOf is the family of the packets that a rule is about.
func familyOf(r heddle.Rule) heddle.Family {
	if r.From.IsValid() {
		return heddle.FamilyOf(r.From.Addr())
	}
	return heddle.FamilyOf(r.To.Addr())
}

// redirects writes them by u32, whose place on the interface any program of ours
// takes as well.
func (t typist) redirects(all []heddle.Redirect) []string {
	var out []string
	wired := map[string]bool{}
	for _, r := range all {
		if r.By == "ebpf" {
			out = append(out, fmt.Sprintf("# program to_host on the egress of %s: what goes to %s arrives on %s", r.Link, r.Prefix, r.To))
			continue
		}
		if !wired[r.Link] {
			out = append(out, t.tool("tc", "qdisc replace dev %s clsact", r.Link))
			wired[r.Link] = true
		}
		protocol, match, priority := "ip", "ip", heddle.RedirectPriority4
		if r.Prefix.Addr().Is6() {
			protocol, match, priority = "ipv6", "ip6", heddle.RedirectPriority6
		}
		out = append(out, t.tool("tc", "filter add dev %s egress protocol %s prio %d u32 match %s dst %s action skbedit ptype host pipe action mirred ingress redirect dev %s",
			r.Link, protocol, priority, match, r.Prefix, r.To))
	}
	return out
}
