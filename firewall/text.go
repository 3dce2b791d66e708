package firewall

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"github.com/heddle-network/heddle"
)

// Ruleset is the nft script that makes the objects. It makes all sets and chains first, so that
// rules can refer to later chains.
func Ruleset(objects []heddle.Firewall) string {
	var declare, rules strings.Builder
	for _, f := range objects {
		if f.Kind == "table" {
			fmt.Fprintf(&declare, "add table %s %s\n", f.Family, heddle.Mark)
			continue
		}
		spec := ""
		if f.Spec != "" {
			spec = " { " + f.Spec + " }"
		}
		fmt.Fprintf(&declare, "add %s %s %s %s%s\n", f.Kind, f.Family, heddle.Mark, f.Name, spec)
		for _, r := range f.Rules {
			fmt.Fprintf(&rules, "add rule %s %s %s %s comment \"%s\"\n", f.Family, heddle.Mark, f.Name, r, RuleComment(r))
		}
	}
	return declare.String() + rules.String()
}

// Removal is the nft script that removes the objects. It removes rules before the chains that they
// jump to, and tables last.
func Removal(objects []heddle.Firewall) string {
	flush, chains, sets, tables := "", "", "", ""
	for i := len(objects) - 1; i >= 0; i-- {
		f := objects[i]
		switch f.Kind {
		case "table":
			tables += fmt.Sprintf("delete table %s %s\n", f.Family, heddle.Mark)
		case "chain":
			flush += fmt.Sprintf("flush chain %s %s %s\n", f.Family, heddle.Mark, f.Name)
			chains += fmt.Sprintf("delete chain %s %s %s\n", f.Family, heddle.Mark, f.Name)
		default:
			sets += fmt.Sprintf("delete %s %s %s %s\n", f.Kind, f.Family, heddle.Mark, f.Name)
		}
	}
	return flush + chains + sets + tables
}

// RuleComment marks a rule as ours and holds a hash of its text. The hash is used to compare the
// live rule with the wanted one.
func RuleComment(rule string) string {
	h := sha256.Sum256([]byte(rule))
	return heddle.Mark + ":" + hex.EncodeToString(h[:4])
}

// AddElement is the nft command, without the program's name, that adds the element.
func AddElement(e heddle.Element) string {
	t, _ := TypeOf(e.Family, e.Set)
	s := fmt.Sprintf("add element %s %s %s '{ %s", e.Family, heddle.Mark, e.Set, joinTyped(e.Match, t.Match))
	if len(e.Value) > 0 {
		s += " : " + joinTyped(e.Value, t.Value)
	}
	return s + " }'"
}

// DeleteElement is the nft command, without the program's name, that deletes the element.
func DeleteElement(e heddle.Element) string {
	t, _ := TypeOf(e.Family, e.Set)
	return fmt.Sprintf("delete element %s %s %s '{ %s }'", e.Family, heddle.Mark, e.Set, joinTyped(e.Match, t.Match))
}

func joinTyped(values, types []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v
		if i >= len(types) {
			continue
		}
		switch {
		case isRaw(types[i]):
			out[i] = rawField(v)
		case types[i] == TypeIfName:
			out[i] = `"` + v + `"`
		}
	}
	return strings.Join(out, " . ")
}

// rawField is the number that nft needs for an address in a raw field; for a prefix it is two
// numbers, the first and the last.
func rawField(s string) string {
	if p, err := netip.ParsePrefix(s); err == nil {
		return rawField(p.Addr().String()) + "-" + rawField(heddle.LastAddr(p).String())
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return s
	}
	return fmt.Sprintf("0x%x", a.AsSlice())
}
