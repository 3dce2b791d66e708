package attack_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heddle-network/heddle/test/cell"
)

var update = flag.Bool("update", false, "write docs/attacks.md anew")

const preface = `# What a container cannot do to its neighbours and its host

This page is made from the tests of ` + "`test/attack`" + `, and a test keeps it so. The
attacker is a container with raw sockets, and with CAP_NET_ADMIN in its own
namespace, unless the row names another one: who has a join token or a host's keys, a
host that writes records, a local user, another engine's container. Each attack is
mounted twice: against the guard, where it must fail
and, where a packet of its own is dropped, be counted (` + "`heddle status`" + `); and on the
same host with the guard taken away, where it must succeed, or the test would
prove nothing. A run of ` + "`make test`" + ` has a third of that second time, and a third of what needs virtual machines
(ADR 81). In mode bridge, virtual machines attack as well, from their TAP devices. Where there is no guard to take away, the control does the same by what
is allowed, such as the operator's own credential. Neighbours of a container that
attacks talk meanwhile, and lose nothing.

The modes of a row are those in which its test is mounted; the test fails if one of
them is left out. *the agent* stands for attacks on its sockets, which no network is
concerned in. Where the machine's kernel lacks a mode, a virtual machine has it.

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
	for _, l := range listings() {
		i := slices.IndexFunc(all, func(r row) bool { return r.class == l.class && r.name == l.name })
		if i < 0 {
			all, i = append(all, row{class: l.class, name: l.name}), len(all)
		}
		all[i].results = append(all[i].results, strings.Join(l.modes, ", ")+": "+l.result)
		if l.why != "" {
			all[i].why = l.why
		}
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

// elsewhereTests are names of tests of another folder.
var elsewhereTests = regexp.MustCompile(`(Test\w+(?:(?:, | and )Test\w+)*) of (test/\w+)`)

// declares reports whether a folder has a test of that name.
func declares(t *testing.T, folder, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	cell.Must(t, err)
	return slices.ContainsFunc(files, func(path string) bool {
		text, err := os.ReadFile(path)
		cell.Must(t, err)
		return strings.Contains(string(text), "\nfunc "+test+"(")
	})
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
		for _, named := range elsewhereTests.FindAllStringSubmatch(c.elsewhere, -1) {
			folder := filepath.Join("..", filepath.Base(named[2]))
			for _, test := range strings.FieldsFunc(strings.ReplaceAll(named[1], " and ", ", "), func(r rune) bool { return r == ',' || r == ' ' }) {
				if !declares(t, folder, test) {
					t.Errorf("class %s: there is no %s in %s", c.id, test, named[2])
				}
			}
		}
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
