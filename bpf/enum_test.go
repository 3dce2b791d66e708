package bpf_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// TestNames: paths and reasons are the same, and in the same order, in the programs, in
// Go and in the guide.
func TestNames(t *testing.T) {
	if _, err := os.Stat("src/maps.h"); err != nil {
		t.Skip("the sources are not here")
	}
	source, err := os.ReadFile("src/maps.h")
	cell.Must(t, err)
	guide, err := os.ReadFile("../docs/guides/fast-path.md")
	cell.Must(t, err)
	for prefix, c := range map[string]struct {
		table string
		names []string
	}{
		"PATH_":   {"| path | ", heddle.FastPaths},
		"REASON_": {"| reason | ", heddle.FastMisses},
	} {
		var inC []string
		for _, m := range regexp.MustCompile(`\b`+prefix+`([A-Z]+),`).FindAllStringSubmatch(string(source), -1) {
			inC = append(inC, strings.ToLower(m[1]))
		}
		if !slices.Equal(inC, c.names) {
			t.Errorf("%s: in C %v, in Go %v", prefix, inC, c.names)
		}
		_, rows, _ := strings.Cut(string(guide), "\n"+c.table)
		rows, _, _ = strings.Cut(rows, "\n\n")
		var inGuide []string
		for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllStringSubmatch(rows, -1) {
			inGuide = append(inGuide, m[1])
		}
		if !slices.Equal(inGuide, c.names) {
			t.Errorf("%s: in the guide %v, in Go %v", prefix, inGuide, c.names)
		}
	}
}
