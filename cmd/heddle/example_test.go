package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// runnable lists the commands that do something by themselves. A group that only
// holds others has no example.
func runnable(cmd *cobra.Command) (all []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if (!c.HasSubCommands() || c.Example != "") && c.Name() != "help" {
			all = append(all, c)
		}
		all = append(all, runnable(c)...)
	}
	return all
}

func testTree() *cobra.Command {
	return newRoot(newSession(processEnv{getenv: func(string) string { return "" }}))
}

// exampleWords returns the words of an example's line after "heddle", without
// the redirection; nil for a line of another program.
func exampleWords(line string) []string {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "heddle" {
		return nil
	}
	if i := slices.Index(words, ">"); i > 0 {
		words = words[:i]
	}
	return words[1:]
}

func TestExamplesParse(t *testing.T) {
	for _, cmd := range runnable(testTree()) {
		own := 0
		for line := range strings.Lines(cmd.Example) {
			words := exampleWords(line)
			if words == nil {
				continue
			}
			found, rest, err := testTree().Find(words)
			if err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if found.CommandPath() == cmd.CommandPath() {
				own++
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%s: %v", line, err)
			} else if err := found.ValidateArgs(found.Flags().Args()); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		if own == 0 || cmd.Short == "" {
			t.Errorf("%s has no example of its own, or no short description", cmd.CommandPath())
		}
	}
}

// exampleOrder is a walk through all commands in which each finds what it
// needs.
var exampleOrder = []string{
	"version", "completion", "docs man", "docs markdown", "status",
	"host list", "host token", "host ranges", "host authority", "host authority export", "host authority withdraw", "host authority lend", "host authority return", "peer list", "path list", "network create", "network list", "network show", "network allow", "network disallow", "network delete",
	"attach", "endpoint list", "endpoint show", "endpoint label", "endpoint set", "policy list", "havip list", "name list", "name show", "nic list", "ping", "check", "audit", "explain", "doctor list", "doctor", "events", "flows", "detach", "gc",
	"lab up", "lab list", "lab exec",
	"lab fault cut", "lab fault heal", "lab fault wire", "lab fault rate", "lab fault mtu", "lab fault pause", "lab fault continue",
	"lab fault kill", "lab fault clock", "lab fault list", "lab fault clear", "lab down",
	"crowd example", "crowd check", "crowd plan", "crowd status", "vpc list",
}

// elsewhere names commands that need more than one agent or host, a file, or minutes: other suites
// run them.
func elsewhere(path string) bool {
	return strings.HasPrefix(path, "heddle bench") || strings.HasPrefix(path, "heddle crowd fault") || slices.Contains([]string{"heddle crowd import", "heddle crowd run", "heddle crowd scale", "heddle crowd down", "heddle crowd report", "heddle crowd compare", "heddle crowd merge", "heddle crowd why", "heddle crowd labels", "heddle crowd classify", "heddle host promote", "heddle host demote", "heddle host grant", "heddle host revoke", "heddle host remove", "heddle host replace", "heddle nic grant", "heddle nic revoke", "heddle nic serve", "heddle vpc peer", "heddle vpc unpeer", "heddle vpc show", "heddle vpc route add", "heddle vpc route list", "heddle vpc route delete", "heddle vpc delete", "heddle policy create", "heddle policy apply", "heddle policy show", "heddle policy test", "heddle policy delete", "heddle havip create", "heddle havip show", "heddle havip assign", "heddle havip delete", "heddle peer show", "heddle endpoint move", "heddle lab fault reset"}, path)
}

// withAgent begins a script that has an agent. The resolver outlives the agent, and writes into the
// folder; so the script ends it, too.
const withAgent = "set -e\nmkdir -p run state\nheddled --run-dir run --state-dir state --store embedded --underlay 127.0.0.1 2> agent.log & agent=$!\n" +
	"end() { code=$?; set +e; kill $agent; wait $agent; test $code = 0 || cat agent.log\n" +
	"if read resolver version < run/names/lock; then kill $resolver; while test -s run/names/lock; do sleep 0.05; done; fi; exit $code; }\ntrap end EXIT\n" +
	"export HEDDLE_SOCKET=$PWD/run/heddle.sock\nheddle status --wait --timeout 2m\nset -x\n"

// TestExamplesRun runs every example as it is printed, against a new agent.
func TestExamplesRun(t *testing.T) {
	covered := map[string]bool{}
	script := withAgent
	for _, path := range exampleOrder {
		cmd, _, err := testTree().Find(strings.Fields(path))
		if err != nil {
			t.Fatal(err)
		}
		covered[cmd.CommandPath()] = true
		script += strings.ReplaceAll(cmd.Example, "  ", "") + "\n"
	}
	for _, cmd := range runnable(testTree()) {
		if !covered[cmd.CommandPath()] && !elsewhere(cmd.CommandPath()) {
			t.Errorf("%s is missing in exampleOrder", cmd.CommandPath())
		}
	}
	if !alone(t) {
		return
	}
	shell(t, script)
}
