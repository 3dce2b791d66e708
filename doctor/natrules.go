package doctor

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// rulesMatching finds the foreign rules, of any chain, for which match is true.
func (h *Host) rulesMatching(ctx context.Context, match func(rule string, ours []subnet) bool) Finding {
	chains, ours, err := h.chainsAt(ctx, func(chain) bool { return true })
	if err != nil {
		return unknown(err)
	}
	var evidence []string
	for _, c := range chains {
		for _, r := range c.rules {
			if match(r, ours) {
				evidence = append(evidence, c.quote(r))
			}
		}
	}
	return trouble(evidence)
}

func lookPortForward(ctx context.Context, h *Host) Finding {
	ports, err := h.ports(ctx)
	if err != nil {
		return unknown(err)
	}
	return h.rulesMatching(ctx, func(r string, _ []subnet) bool {
		m := portPattern.FindStringSubmatch(r)
		return m != nil && targetPattern.MatchString(r) && slices.ContainsFunc(ports, func(p published) bool {
			return strconv.Itoa(int(p.HostPort)) == m[1] && strings.Contains(r, p.Protocol)
		})
	})
}

func lookMasqueradeAll(ctx context.Context, h *Host) Finding {
	return h.rulesMatching(ctx, func(r string, ours []subnet) bool {
		rule, _, _ := strings.Cut(r, "snat to") // the new source address does not count
		return sourcePattern.MatchString(r) && concerns(rule, ours)
	})
}

func lookNotrack(ctx context.Context, h *Host) Finding {
	return h.rulesMatching(ctx, func(r string, ours []subnet) bool {
		return (strings.Contains(r, "notrack") || strings.Contains(r, "NOTRACK")) && concerns(r, ours)
	})
}

func lookBridgeDrop(ctx context.Context, h *Host) Finding {
	return lookDrops(ctx, h, func(c chain) bool { return c.family == "bridge" && c.hook != "" })
}

func lookTwoIptables(ctx context.Context, h *Host) Finding {
	chains, err := h.Chains(ctx)
	if err != nil {
		return unknown(err)
	}
	legacy, err := h.Legacy(ctx)
	if err != nil {
		return unknown(err)
	}
	first := func(all []chain) string {
		for _, c := range all {
			for _, r := range c.rules {
				if !strings.Contains(r, heddle.Mark+":") {
					return c.quote(r)
				}
			}
			if c.drops {
				return c.quote(c.head)
			}
		}
		return ""
	}
	old := ""
	for _, t := range legacy {
		if s := first(t.chains); s != "" && old == "" {
			old = s
		}
	}
	isNew := func(c chain) bool {
		return (c.family == "ip" || c.family == "ip6") && (c.table == "filter" || c.table == "nat")
	}
	if s := first(slices.DeleteFunc(slices.Clone(chains), func(c chain) bool { return !isNew(c) })); s != "" && old != "" {
		return trouble([]string{old, s})
	}
	return fine()
}
