package commands

import (
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// Change returns the commands that change the host from one wanted state to another. Keep reports
// which objects that go other plans want.
func Change(old, next heddle.State, keep func(key string) bool) []string {
	add, gone := heddle.Delta(old, next)
	had := map[string]bool{}
	for _, o := range old.Objects() {
		had[o.Key()] = true
	}
	var flush, replace strings.Builder
	for _, f := range add.Firewall {
		if f.Kind == "chain" && had[f.Key()] {
			flush.WriteString("flush chain " + f.Family + " " + heddle.Mark + " " + f.Name + "\n")
		}
	}
	var out []string
	if len(add.Firewall) > 0 {
		out = append(out, "nft -f - <<'EOF'\n"+flush.String()+firewall.Ruleset(add.Firewall)+"EOF")
		add.Firewall = nil
	}
	// nft does not add an element of a map that is there with another value
	add.Elements = slices.DeleteFunc(slices.Clone(add.Elements), func(e heddle.Element) bool {
		if had[e.Key()] {
			replace.WriteString(unquoted(firewall.DeleteElement(e)) + "\n" + unquoted(firewall.AddElement(e)) + "\n")
		}
		return had[e.Key()]
	})
	if replace.Len() > 0 {
		out = append(out, "nft -f - <<'EOF'\n"+replace.String()+"EOF")
	}
	return append(append(out, Of(heddle.Plan{Host: add}, "")...), Removal(heddle.Plan{Host: gone}, "", keep)...)
}

// unquoted is a command of nft for a script, instead of for a shell.
func unquoted(command string) string { return strings.ReplaceAll(command, "'", "") }
