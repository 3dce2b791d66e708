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
	changed := func(f heddle.Firewall) bool {
		return slices.ContainsFunc(old.Firewall, func(o heddle.Firewall) bool { return o.Key() == f.Key() })
	}
	var flush strings.Builder
	for _, f := range add.Firewall {
		if f.Kind == "chain" && changed(f) {
			flush.WriteString("flush chain " + f.Family + " " + heddle.Mark + " " + f.Name + "\n")
		}
	}
	var out []string
	if len(add.Firewall) > 0 {
		out = append(out, "nft -f - <<'EOF'\n"+flush.String()+firewall.Ruleset(add.Firewall)+"EOF")
		add.Firewall = nil
	}
	return append(append(out, Of(heddle.Plan{Host: add}, "")...), Removal(heddle.Plan{Host: gone}, "", keep)...)
}
