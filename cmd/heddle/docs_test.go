package main

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle/mode"
)

// TestManTables: a table in a help text fits 80 columns also where a man page indents it, and the
// page does not fill it.
func TestManTables(t *testing.T) {
	for _, cmd := range runnable(testTree()) {
		page, err := manPage(cmd)
		if err != nil {
			t.Fatal(err)
		}
		description, _, _ := strings.Cut(string(page), ".SH OPTIONS")
		for _, table := range helpTable.FindAllString(cmd.Long, -1) {
			for line := range strings.Lines(table) {
				if len([]rune(strings.TrimRight(line, "\n"))) > manColumns {
					t.Errorf("%s: %q has more than %d columns", cmd.CommandPath(), line, manColumns)
				}
			}
		}
		if want, got := len(helpTable.FindAllString(cmd.Long, -1)), strings.Count(description, ".EX"); want != got {
			t.Errorf("the page of %s has %d unfilled tables, and its help %d:\n%s", cmd.CommandPath(), got, want, page)
		}
		if strings.Contains(string(page), "\n\t") {
			t.Errorf("the page of %s has a flag that is no item of a list:\n%s", cmd.CommandPath(), page)
		}
	}
}

// TestModeHelp: the help of network create has every mode and every option.
func TestModeHelp(t *testing.T) {
	create, _, err := testTree().Find([]string{"network", "create"})
	if err != nil {
		t.Fatal(err)
	}
	missing := call(t, "network", "create", "web")
	for _, m := range mode.All() {
		_, help, found := strings.Cut(create.Long, "\n  "+m.Name()+" ")
		if !found || !strings.Contains(create.Flag("mode").Usage, m.Name()) || !strings.Contains(missing.stderr, m.Name()) {
			t.Errorf("mode %s is left out", m.Name())
		}
		for _, o := range m.About().Options {
			if !strings.Contains(help, "--opt "+o.Name+"="+o.Values) {
				t.Errorf("option %s of mode %s is left out", o.Name, m.Name())
			}
		}
	}
	for line, want := range map[string]string{"--mode macvlan --opt ": "macvlan_mode=vepa", "--mode direct --opt ": "nics=", "--opt ": "services="} {
		got := call(t, append([]string{"__complete", "network", "create", "web"}, strings.Split(line, " ")...)...)
		if !strings.Contains(got.stdout, want) {
			t.Errorf("after %q, %s is not offered:\n%s", line, want, got.stdout)
		}
	}
}
