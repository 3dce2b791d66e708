package doctor

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// serviceChecks are about services that containers reach through NAT rules of the host.
func serviceChecks() []Check {
	return []Check{{ID: "service-masquerade", Title: "Rules for services masquerade what they send on", Wrong: "Rules for services do not masquerade what they send on", Severity: Warn,
		Looks:  "the networks with the option services (mode ipvlan), and the NAT rules of others: whether any masquerades the services' families, and whether those that do leave out sources of such a network",
		Why:    "A container that a service's rules have chosen as the backend would answer the asking container directly, past the rules that changed the address: as a stranger, whom that one does not hear.",
		Remedy: "kube-proxy --masquerade-all (masqueradeAll: true, under iptables, ipvs or nftables, in its configuration)",
		look:   lookServiceMasquerade}}
}

func lookServiceMasquerade(ctx context.Context, h *Host) Finding {
	networks, err := h.Networks(ctx)
	if err != nil {
		return unknown(err)
	}
	var asking []netip.Prefix
	for _, n := range networks {
		asking = append(asking, servedSubnets(n.Options["services"], n.Subnets)...)
	}
	if asking == nil {
		return fine("no network has services")
	}
	chains, err := h.foreign(ctx)
	if err != nil {
		return unknown(err)
	}
	return trouble(unmasqueraded(chains, asking))
}

// servedSubnets returns the subnets of the families that the services have.
func servedSubnets(services string, subnets []netip.Prefix) (asking []netip.Prefix) {
	for _, f := range heddle.Families() {
		has := slices.ContainsFunc(strings.Split(services, ","), func(text string) bool {
			p, err := netip.ParsePrefix(text)
			return err == nil && f.Has(p.Addr())
		})
		if has {
			asking = append(asking, ofFamily(subnets, f)...)
		}
	}
	return asking
}

// singleFamily matches rules about one family only, in chains for both families.
var singleFamily = map[heddle.Family]*lazyregexp.Regexp{
	heddle.IPv4: lazyregexp.New(`\b(ip [sd]addr|nfproto ipv4)\b`),
	heddle.IPv6: lazyregexp.New(`\b(ip6 [sd]addr|nfproto ipv6)\b`),
}

// ofFamily returns the prefixes of a family.
func ofFamily(all []netip.Prefix, f heddle.Family) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(all), func(p netip.Prefix) bool { return !f.Has(p.Addr()) })
}

// appliesTo reports whether a rule of the chain is about packets of the family. A legacy chain's
// family has the tool's name before it.
func (c chain) appliesTo(f heddle.Family, rule string) bool {
	if c.family != "inet" {
		return c.family == f.Word() || strings.HasSuffix(c.family, " "+f.Word())
	}
	for other, alone := range singleFamily {
		if other != f && alone.MatchString(rule) {
			return false
		}
	}
	return true
}

// The patterns match, in the syntax of nft and iptables: rules that masquerade or mark for it,
// a source that a rule excludes, and a source that it requires.
var (
	maskPattern   = lazyregexp.New(`(?i)\b(masquerade|mark-masq|mark-for-masquerade)\b`)
	exceptPattern = lazyregexp.New(`(?:! -s|saddr !=) ([0-9a-fA-F.:]+(?:/[0-9]+)?)`)
	onlyPattern   = lazyregexp.New(`(?:^|[^!] )(?:-s|saddr) ([0-9a-fA-F.:]+(?:/[0-9]+)?)`)
)

// unmasqueraded returns evidence that packets from the subnets are not masqueraded.
func unmasqueraded(chains []chain, subnets []netip.Prefix) (evidence []string) {
	for _, f := range heddle.Families() {
		if some := ofFamily(subnets, f); len(some) > 0 {
			evidence = append(evidence, unmasqueradedFamily(f, chains, some)...)
		}
	}
	return evidence
}

func unmasqueradedFamily(f heddle.Family, chains []chain, subnets []netip.Prefix) []string {
	var evidence []string
	masks := false
	for _, c := range chains {
		for _, r := range c.rules {
			if !c.appliesTo(f, r) || !maskPattern.MatchString(r) || c.masqueradesMarked() || onlyOtherSources(r, subnets) {
				continue
			}
			masks = true
			if m := exceptPattern.FindStringSubmatch(r); m != nil && overlapsAny(m[1], subnets) {
				evidence = append(evidence, c.quote(r))
			}
		}
	}
	if !masks {
		return []string{fmt.Sprintf("no rule of others masquerades %s, and services are asked from %s", f, joinPrefixes(subnets))}
	}
	return evidence
}

// masqueradesMarked reports whether the chain masquerades only packets that other rules of
// kube-proxy have marked.
func (c chain) masqueradesMarked() bool {
	return c.name == "KUBE-POSTROUTING" || c.table == "kube-proxy" && c.hook == "postrouting"
}

// onlyOtherSources reports whether a rule requires a source other than the subnets: another
// network, or a single container that calls itself.
func onlyOtherSources(rule string, subnets []netip.Prefix) bool {
	m := onlyPattern.FindStringSubmatch(rule)
	return m != nil && !slices.ContainsFunc(subnets, func(s netip.Prefix) bool {
		p, ok := parsePrefix(m[1])
		return ok && p.Bits() <= s.Bits() && p.Contains(s.Addr())
	})
}

func joinPrefixes(all []netip.Prefix) string {
	var texts []string
	for _, p := range all {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, ", ")
}

func overlapsAny(text string, subnets []netip.Prefix) bool {
	if !strings.Contains(text, "/") {
		text += map[bool]string{true: "/128", false: "/32"}[strings.Contains(text, ":")]
	}
	p, err := netip.ParsePrefix(text)
	return err == nil && slices.ContainsFunc(subnets, p.Overlaps)
}
