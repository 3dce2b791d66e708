package doctor

import (
	"context"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// chain is a chain of nftables or of legacy iptables.
type chain struct {
	family, table, name string
	// kind and hook are "" for a chain without a hook.
	kind, hook string
	drops      bool // by policy
	// head is the line with hook and policy; rules are the other lines.
	head  string
	rules []string
}

func (c chain) title() string { return strings.Join([]string{c.family, c.table, c.name}, " ") }

func (c chain) quote(line string) string { return c.title() + ": " + line }

var headPattern = lazyregexp.New(`^type (\w+) hook (\w+) .*`)

// parseRuleset reads what 'nft list ruleset' prints.
func parseRuleset(text string) (all []chain) {
	family, table, inChain := "", "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || line[0] == '#':
		case f[0] == "table" && len(f) == 4:
			family, table = f[1], f[2]
		case f[0] == "chain" && f[len(f)-1] == "{":
			all, inChain = append(all, chain{family: family, table: table, name: f[1]}), true
		case line == "}":
			inChain = false
		case !inChain: // of a set, a map, a flow table
		default:
			c := &all[len(all)-1]
			if m := headPattern.FindStringSubmatch(line); m != nil {
				c.kind, c.hook, c.head, c.drops = m[1], m[2], line, strings.Contains(line, "policy drop")
			} else {
				c.rules = append(c.rules, line)
			}
		}
	}
	return all
}

// Chains returns the chains of all tables that nft sees, without ours.
func (h *Host) Chains(ctx context.Context) ([]chain, error) {
	return h.chains.get(func() ([]chain, error) {
		text, err := show(ctx, "nft", "-s", "-t", "list", "ruleset")
		all := slices.DeleteFunc(parseRuleset(text), func(c chain) bool { return c.table == heddle.Mark })
		return all, err
	})
}

// legacyFamily says how to read the legacy tables of one family.
type legacyFamily struct{ family, names, program string }

var legacyFamilies = []legacyFamily{
	{"ip", "/proc/thread-self/net/ip_tables_names", "iptables-legacy"},
	{"ip6", "/proc/thread-self/net/ip6_tables_names", "ip6tables-legacy"},
}

// tables names the legacy tables in use. Listing another one would load it.
func (f legacyFamily) tables() []string {
	b, _ := os.ReadFile(f.names)
	return strings.Fields(string(b))
}

// legacyTable holds the chains of a legacy table.
type legacyTable struct {
	family, name string
	chains       []chain
}

// Legacy returns the tables of legacy iptables that are in use.
func (h *Host) Legacy(ctx context.Context) ([]legacyTable, error) {
	return h.legacy.get(func() (all []legacyTable, err error) {
		for _, f := range legacyFamilies {
			for _, name := range f.tables() {
				text, err := show(ctx, f.program, "-t", name, "-S")
				if err != nil {
					return all, err
				}
				all = append(all, legacyTable{f.family, name, parseLegacy(f, name, text)})
			}
		}
		return all, nil
	})
}

var legacyHooks = map[string]string{"PREROUTING": "prerouting", "INPUT": "input", "FORWARD": "forward", "OUTPUT": "output", "POSTROUTING": "postrouting"}

// parseLegacy reads what 'iptables-legacy -S' prints.
func parseLegacy(f legacyFamily, table, text string) (all []chain) {
	index := map[string]int{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		w := strings.Fields(line)
		if len(w) < 2 {
			continue
		}
		if w[0] == "-P" || w[0] == "-N" {
			c := chain{family: f.program + " " + f.family, table: table, name: w[1], head: line, hook: legacyHooks[w[1]], kind: "filter"}
			if table == "nat" {
				c.kind = "nat"
			}
			c.drops = w[0] == "-P" && w[2] == "DROP"
			index[w[1]], all = len(all), append(all, c)
		} else if i, known := index[w[1]]; known {
			all[i].rules = append(all[i].rules, line)
		}
	}
	return all
}

// foreign returns all chains of others, of nftables and of legacy iptables.
func (h *Host) foreign(ctx context.Context) ([]chain, error) {
	all, err := h.Chains(ctx)
	if err != nil {
		return nil, err
	}
	legacy, err := h.Legacy(ctx)
	all = slices.Clone(all)
	for _, t := range legacy {
		all = append(all, t.chains...)
	}
	return all, err
}

var (
	addressPattern   = lazyregexp.New(`[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?:/[0-9]{1,2})?|[0-9a-f]{0,4}:[0-9a-f:]*:[0-9a-f:]*(?:/[0-9]{1,3})?`)
	interfacePattern = lazyregexp.New(`(?:iif|oif|iifname|oifname|-i|-o) "?([A-Za-z0-9_.*+-]+)"?`)
	endPattern       = lazyregexp.New(`\b(drop|reject|DROP|REJECT)\b`)
	sourcePattern    = lazyregexp.New(`\b(masquerade|snat|MASQUERADE|SNAT)\b`)
	targetPattern    = lazyregexp.New(`\b(dnat|redirect|DNAT|REDIRECT)\b`)
	portPattern      = lazyregexp.New(`dports? (?:\{ )?([0-9]+)`)
)

// concerns reports whether a rule could match our traffic: if it names addresses or interfaces,
// some of them are ours.
func concerns(rule string, ours []subnet) bool {
	if m := interfacePattern.FindAllStringSubmatch(rule, -1); len(m) > 0 {
		mine := func(m []string) bool { return matchesOurName(strings.ReplaceAll(m[1], "+", "*")) }
		if !slices.ContainsFunc(m, mine) {
			return false
		}
	}
	addresses := addressPattern.FindAllString(rule, -1)
	if len(addresses) == 0 {
		return true
	}
	for _, text := range addresses {
		p, ok := parsePrefix(text)
		if ok && slices.ContainsFunc(ours, func(s subnet) bool { return s.prefix.Overlaps(p) }) {
			return true
		}
	}
	return false
}

// namesTarget reports whether a rule names addresses or interfaces.
func namesTarget(rule string) bool {
	return interfacePattern.MatchString(rule) || addressPattern.MatchString(rule)
}

func matchesOurName(pattern string) bool {
	if isOurName(pattern) || matchesSampleName(pattern) {
		return true
	}
	for _, p := range prefixes {
		if ok, _ := path.Match(pattern, p+"*"); ok {
			return true
		}
	}
	return false
}

// hasAcceptRules reports whether all four of our accept rules are in the chain. It does not look
// for our mark, which not every version of nft shows.
func (c chain) hasAcceptRules() bool {
	for _, want := range [][2]string{{"iifname", "-i "}, {"oifname", "-o "}} {
		for _, prefix := range []string{heddle.PrefixBridge, heddle.PrefixPort} {
			is := func(r string) bool {
				return (strings.HasPrefix(r, want[0]+` "`+prefix+`*"`) || strings.Contains(r, want[1]+prefix+"+")) && strings.Contains(strings.ToLower(r), "accept")
			}
			if !slices.ContainsFunc(c.rules, is) {
				return false
			}
		}
	}
	return true
}
