package commands

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

func (w writer) address(a heddle.Address) []string {
	how := ""
	switch {
	case a.Prefix.Addr().Is6():
		how = " nodad"
	case a.HostScope:
		how = " scope host"
	}
	return []string{w.ip("address add %s dev %s%s", a.Prefix, a.Link, how)}
}

func (w writer) neighbour(n heddle.Neighbour) []string {
	return []string{w.ip("neighbour replace %s lladdr %s dev %s nud permanent", n.Addr, n.MAC, n.Link)}
}

func (w writer) route(r heddle.Route) []string {
	return []string{w.ip("%sroute add %s", ipFlag(heddle.FamilyOf(r.Dst.Addr())), r.String())}
}

func (w writer) rule(r heddle.Rule) []string {
	return []string{w.ip("%srule add %s", ipFlag(ruleFamily(r)), r.String())}
}

func (w writer) proxy(p heddle.Proxy) []string {
	return []string{w.ip("neighbour add proxy %s dev %s protocol %d", p.Addr, p.Link, heddle.RouteProtocol)}
}

// ipFlag is the option of ip(8) for the family.
func ipFlag(f heddle.Family) string {
	if f == heddle.IPv6 {
		return "-6 "
	}
	return ""
}

// ruleFamily is the family of the packets that a rule selects.
func ruleFamily(r heddle.Rule) heddle.Family {
	if r.From.IsValid() {
		return heddle.FamilyOf(r.From.Addr())
	}
	return heddle.FamilyOf(r.To.Addr())
}

// redirects writes redirects as u32 filters. Those made with eBPF have no command, and are
// printed as descriptions.
func (w writer) redirects(all []heddle.Redirect) []string {
	var out []string
	wired := map[string]bool{}
	for _, r := range all {
		if r.By == "ebpf" {
			out = append(out, fmt.Sprintf("# program to_host on the egress of %s: what goes to %s arrives on %s", r.Link, r.Prefix, r.To))
			continue
		}
		if !wired[r.Link] {
			out = append(out, w.command("tc", "qdisc replace dev %s clsact", r.Link))
			wired[r.Link] = true
		}
		protocol, match, priority := "ip", "ip", heddle.RedirectPriority4
		if r.Prefix.Addr().Is6() {
			protocol, match, priority = "ipv6", "ip6", heddle.RedirectPriority6
		}
		out = append(out, w.command("tc", "filter add dev %s egress protocol %s prio %d u32 match %s dst %s action skbedit ptype host pipe action mirred ingress redirect dev %s",
			r.Link, protocol, priority, match, r.Prefix, r.To))
	}
	return out
}
