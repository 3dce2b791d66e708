package heddle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
)

// firewall writes one atomic nft transaction as a here-document.
func (t typist) firewall(objects []Firewall) []string {
	if len(objects) == 0 {
		return nil
	}
	return []string{"nft -f - <<'EOF'\n" + Ruleset(objects) + "EOF"}
}

// Ruleset is the nft script that makes the objects: all sets and chains first,
// so that rules can refer to chains written later.
func Ruleset(objects []Firewall) string {
	var declare, rules strings.Builder
	for _, f := range objects {
		if f.Kind == "table" {
			fmt.Fprintf(&declare, "add table %s %s\n", f.Family, Mark)
			continue
		}
		spec := ""
		if f.Spec != "" {
			spec = " { " + f.Spec + " }"
		}
		fmt.Fprintf(&declare, "add %s %s %s %s%s\n", f.Kind, f.Family, Mark, f.Name, spec)
		for _, r := range f.Rules {
			fmt.Fprintf(&rules, "add rule %s %s %s %s comment \"%s\"\n", f.Family, Mark, f.Name, r, RuleComment(r))
		}
	}
	return declare.String() + rules.String()
}

// RuleComment marks a rule as ours and holds a hash of its text, by which the
// live rule is compared with the wanted one.
func RuleComment(rule string) string {
	h := sha256.Sum256([]byte(rule))
	return Mark + ":" + hex.EncodeToString(h[:4])
}

// command writes an nft command about the element.
func (e Element) command(verb string) string {
	t, _ := TypeOf(e.Family, e.Set)
	s := fmt.Sprintf("%s element %s %s %s '{ %s", verb, e.Family, Mark, e.Set, joinTyped(e.Match, t.Match))
	if len(e.Value) > 0 {
		s += " : " + joinTyped(e.Value, t.Value)
	}
	return s + " }'"
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

// rawField writes an address as the number that nft wants for a raw field, and a
// prefix as two.
func rawField(s string) string {
	if p, err := netip.ParsePrefix(s); err == nil {
		return rawField(p.Addr().String()) + "-" + rawField(LastAddr(p).String())
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return s
	}
	return fmt.Sprintf("0x%x", a.AsSlice())
}
