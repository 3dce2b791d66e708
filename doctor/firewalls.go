package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel/coexist"
)

func firewallChecks() []Check {
	return []Check{
		{ID: "forward-drop", Title: "No other firewall drops what we forward", Wrong: "Another firewall drops what we forward", Severity: Fail, Looks: "foreign base chains at the hook forward with policy drop or rules that drop, in 'nft list ruleset' and 'iptables-legacy -S'",
			Why: "A drop in any chain is final. The agent puts accept rules for its own devices in front of what such a chain drops blankly, by its last rule or its policy; here they are missing.", Remedy: "heddle doctor --fix --only forward-drop", look: lookForwardDrop, fix: fixForwardDrop},
		{ID: "forward-before", Title: "No rule before our accept rules drops our traffic", Wrong: "A rule before our accept rules drops our traffic", Severity: Warn, Looks: "rules of foreign forward chains that stand before heddle's accept rules, drop, and match its devices or subnets",
			Why: "Somebody put them first on purpose; heddle leaves them there.", Remedy: "nft -a list chain CHAIN, then nft delete rule CHAIN handle N", look: lookForwardBefore},
		{ID: "prerouting-drop", Title: "No rule drops our traffic before it is routed", Wrong: "A rule drops our traffic before it is routed", Severity: Warn, Looks: "foreign base chains at the hooks ingress and prerouting: policy drop, and rules that drop and match heddle's devices or subnets",
			Why: "What is dropped there never reaches a container, and no accept rule of heddle's can help.", Remedy: "nft -a list chain CHAIN, then nft delete rule CHAIN handle N", look: lookPreroutingDrop},
		{ID: "input-drop", Title: "Containers find their IPv6 gateway through the input chain", Wrong: "Containers do not find their IPv6 gateway through the input chain", Severity: Warn, Looks: "foreign base chains at the hook input with policy drop, and whether they let ICMPv6 pass; where a network has IPv6",
			Why: "Neighbour discovery for the gateway is ICMPv6 to the host itself. Without it containers lose IPv6 after half a minute.", Remedy: "nft insert rule CHAIN icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept", look: lookInputDrop},
		{ID: "port-forward", Title: "No other rule forwards a published port", Wrong: "Another rule forwards a published port", Severity: Warn, Looks: "foreign dnat and redirect rules with the port of a published one",
			Why: "Which of the two gets a connection is decided by the chains' priorities; the other one is never reached.", Remedy: "nft -a list chain CHAIN, then nft delete rule CHAIN handle N, or publish another port", look: lookPortForward},
		{ID: "masquerade-all", Title: "No other rule rewrites containers' addresses", Wrong: "Another rule rewrites containers' addresses", Severity: Warn, Looks: "foreign masquerade and snat rules without an outgoing interface, or with heddle's",
			Why: "Containers see each other under the gateway's address, and what the guard and isolation go by is lost.", Remedy: "add oifname \"UPLINK\" to the rule", look: lookMasqueradeAll},
		{ID: "notrack", Title: "Our connections are tracked", Wrong: "Our connections are not tracked", Severity: Warn, Looks: "foreign rules with notrack that match heddle's devices or subnets",
			Why: "Without tracking there is no masquerading, no published port, and no reply into a network.", Remedy: "nft -a list chain CHAIN, then nft delete rule CHAIN handle N", look: lookNotrack},
		{ID: "bridge-drop", Title: "No other firewall drops bridged frames", Wrong: "Another firewall drops bridged frames", Severity: Fail, Looks: "foreign base chains of family bridge: policy drop, and rules that drop and match heddle's devices",
			Why: "Containers of one network do not reach each other, nor their gateway.", Remedy: "nft chain bridge TABLE CHAIN '{ policy accept; }', or ebtables -P FORWARD ACCEPT", look: lookBridgeDrop},
		{ID: "two-iptables", Title: "Only one kind of iptables is in use", Wrong: "Two kinds of iptables are in use", Severity: Warn, Looks: "rules in legacy tables and rules in nftables' table ip filter at the same time",
			Why: "Both apply. Who lists one does not see the other, which is how a drop is overlooked.", Remedy: "update-alternatives --config iptables; then iptables-legacy -F && iptables-legacy -P FORWARD ACCEPT", look: lookTwoIptables},
	}
}

// chainsAt returns the wanted foreign chains and our subnets, if the host forwards for some network.
func (h *Host) chainsAt(ctx context.Context, want func(chain) bool) (some []chain, ours []subnet, err error) {
	networks, err := h.forwarded(ctx)
	if err != nil {
		return nil, nil, err
	}
	ours = subnets(networks)
	all, err := h.foreign(ctx)
	for _, c := range all {
		if len(ours) > 0 && want(c) {
			some = append(some, c)
		}
	}
	return some, ours, err
}

func filterAt(hooks ...string) func(chain) bool {
	return func(c chain) bool {
		return slices.Contains(hooks, c.hook) && c.family != "bridge" && c.kind == "filter"
	}
}

// dropLines returns the lines by which the chain could drop our packets.
func (c chain) dropLines(ours []subnet) (evidence []string) {
	if c.drops {
		evidence = append(evidence, c.quote(c.head))
	}
	for _, r := range c.rules {
		if endPattern.MatchString(r) && concerns(r, ours) {
			evidence = append(evidence, c.quote(r))
		}
	}
	return evidence
}

func lookForwardDrop(ctx context.Context, h *Host) Finding {
	chains, ours, err := h.chainsAt(ctx, filterAt("forward"))
	if err != nil {
		return unknown(err)
	}
	var evidence []string
	for _, c := range chains {
		if !c.hasAcceptRules() {
			evidence = append(evidence, c.dropLines(ours)...)
		}
	}
	return trouble(evidence)
}

func fixForwardDrop(context.Context, *Host) ([]string, error) {
	c, err := coexist.Open()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Admit()
}

func lookForwardBefore(ctx context.Context, h *Host) Finding {
	chains, ours, err := h.chainsAt(ctx, filterAt("forward"))
	if err != nil {
		return unknown(err)
	}
	var evidence []string
	for _, c := range chains {
		if !c.hasAcceptRules() {
			continue
		}
		for _, r := range c.rules {
			if strings.Contains(r, heddle.PrefixBridge+"*") || strings.Contains(r, heddle.PrefixBridge+"+") {
				break // here our own rules accept all our traffic
			}
			if endPattern.MatchString(r) && namesTarget(r) && concerns(r, ours) {
				evidence = append(evidence, c.quote(r))
			}
		}
	}
	return trouble(evidence)
}

func lookPreroutingDrop(ctx context.Context, h *Host) Finding {
	return lookDrops(ctx, h, filterAt("prerouting", "ingress"))
}

// lookDrops finds chains that could drop our packets.
func lookDrops(ctx context.Context, h *Host, want func(chain) bool) Finding {
	chains, ours, err := h.chainsAt(ctx, want)
	if err != nil {
		return unknown(err)
	}
	var evidence []string
	for _, c := range chains {
		evidence = append(evidence, c.dropLines(ours)...)
	}
	return trouble(evidence)
}

func lookInputDrop(ctx context.Context, h *Host) Finding {
	chains, ours, err := h.chainsAt(ctx, filterAt("input"))
	if err != nil {
		return unknown(err)
	}
	six := slices.ContainsFunc(ours, func(s subnet) bool { return s.prefix.Addr().Is6() })
	all, _ := h.foreign(ctx)
	var evidence []string
	for _, c := range chains {
		sees6 := c.family == "inet" || strings.HasSuffix(c.family, "ip6")
		opens := func(o chain) bool {
			return o.family == c.family && o.table == c.table && slices.ContainsFunc(o.rules, func(r string) bool {
				return strings.Contains(r, "icmpv6") || strings.Contains(r, "ipv6-icmp") || strings.Contains(r, "nd-neighbor")
			})
		}
		if six && sees6 && c.drops && !slices.ContainsFunc(all, opens) {
			evidence = append(evidence, c.quote(c.head))
		}
	}
	return trouble(evidence)
}
