package attack_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/attacks.md anew")

const preface = `# What a container cannot do to its neighbours and its host

This page is made from the tests of ` + "`test/attack`" + `, and a test keeps it so. The
attacker is a container with raw sockets, and with CAP_NET_ADMIN in its own
namespace. Each attack is mounted twice: against the guard, where it must fail
and, where a packet of its own is dropped, be counted (` + "`heddle status`" + `); and on the
same host with the guard taken away, where it must succeed, or the test would
prove nothing. Neighbours talk meanwhile, and lose nothing.

*prevented* is shown that way. *prevented (kernel)* is prevented by the kernel
itself, so that there is nothing to compare with. *limit* cannot be prevented by
a rule on the host: the test shows that it succeeds, so that this page stays true.
`

// row is one test as the page shows it.
type row struct {
	class, name string
	results     []string
	why         string
}

// rows gathers the tests by class and name.
func rows() []row {
	var all []row
	add := func(class, name, result, why string) {
		i := slices.IndexFunc(all, func(r row) bool { return r.class == class && r.name == name })
		if i < 0 {
			all, i = append(all, row{class: class, name: name}), len(all)
		}
		all[i].results = append(all[i].results, result)
		if why != "" {
			all[i].why = why
		}
	}
	for _, a := range attacks() {
		result := "prevented"
		switch {
		case a.limit != "":
			result = "limit"
		case a.certain != "":
			result = "prevented (kernel)"
		}
		add(a.class, a.name, strings.ReplaceAll(a.modes, " ", ", ")+": "+result, a.limit+a.certain)
	}
	for _, a := range spanAttacks() {
		result := "prevented"
		if a.certain != "" {
			result = "prevented (kernel)"
		}
		add("underlay", a.name, "overlay: "+result, a.certain)
	}
	for _, a := range ownAttacks() {
		add(a.class, a.name, strings.Join(strings.Fields(a.modes), ", ")+": "+a.result(), a.limit+a.certain)
	}
	for _, a := range recordAttacks() {
		add(a.class, a.name, strings.Join(strings.Fields(a.modes), ", ")+": prevented", "")
	}
	for _, d := range doorAttacks() {
		add(d.class, d.name, "every mode: prevented", "")
	}
	return all
}

// page is the text of docs/attacks.md.
func page() string {
	var b strings.Builder
	b.WriteString(preface)
	all := rows()
	for _, c := range classes {
		fmt.Fprintf(&b, "\n## %s\n\nSeen in: %s.\n", c.title, c.known)
		if c.elsewhere != "" {
			fmt.Fprintf(&b, "No test here: %s.\n", c.elsewhere)
			continue
		}
		if c.limit != "" {
			fmt.Fprintf(&b, "Limit: %s.\n", c.limit)
		}
		b.WriteString("\n| test | modes | because |\n|---|---|---|\n")
		for _, r := range all {
			if r.class == c.id {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", r.name, strings.Join(r.results, "; "), r.why)
			}
		}
	}
	return b.String()
}

// TestIndex keeps docs/attacks.md in step, and knows no class without a test
// and no test without a class.
func TestIndex(t *testing.T) {
	tested := map[string]int{}
	for _, r := range rows() {
		tested[r.class]++
	}
	for _, c := range classes {
		if (tested[c.id] == 0) != (c.elsewhere != "") {
			t.Errorf("class %s has %d tests, and %q as the reason for none", c.id, tested[c.id], c.elsewhere)
		}
		delete(tested, c.id)
	}
	for id := range tested {
		t.Errorf("there is no class %s", id)
	}
	path := filepath.Join("..", "..", "docs", "attacks.md")
	if *update {
		if err := os.WriteFile(path, []byte(page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page(), string(have)); diff != "" {
		t.Errorf("docs/attacks.md is out of step (go test ./test/attack -run TestIndex -update writes it anew):\n%s", diff)
	}
}
