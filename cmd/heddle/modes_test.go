package main

import (
	"errors"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode"
)

// TestOptionsTold: 'network create --help' and the mode's page name each mode and each
// option that it knows. HDL-1005 sends there.
func TestOptionsTold(t *testing.T) {
	help := call(t, "network", "create", "--help").stdout
	missing := call(t, "network", "create", "n").stderr
	for _, m := range mode.All() {
		name := m.Name()
		page, err := os.ReadFile("../../docs/modes/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(help, "\n  "+name+" ") {
			t.Errorf("the help does not say what mode %s is", name)
		}
		if !regexp.MustCompile(`--mode string .*\b` + name + `\b`).MatchString(help) {
			t.Errorf("--mode does not name %s", name)
		}
		if !regexp.MustCompile(`give --mode .*\b` + name + `\b`).MatchString(missing) {
			t.Errorf("without --mode the error does not name %s: %s", name, missing)
		}
		for _, option := range known(t, m) {
			if !strings.Contains(help, "--opt "+option+"=") {
				t.Errorf("mode %s: the help does not tell --opt %s", name, option)
			}
			if !strings.Contains(string(page), "| `--opt "+option+"=") {
				t.Errorf("docs/modes/%s.md does not tell --opt %s", name, option)
			}
		}
	}
}

// known are the options of a mode, out of its refusal of one that it does not know.
func known(t *testing.T, m heddle.Mode) []string {
	t.Helper()
	lan := heddle.LinkFact{Name: "lan0", MTU: 1500, MAC: "52:54:00:00:00:01", Up: true,
		Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")}, Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}
	n := heddle.Network{ID: "00000000000000aa", Name: "n", Mode: m.Name(), Options: map[string]string{"unheard-of": "true"}}
	if n.Mode != "host" {
		n.Subnets, n.Gateways = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, lan.Gateways
	}
	if n.Mode != "host" && n.Mode != "overlay" {
		n.Parent = lan.Name
	}
	var refused *heddle.Error
	if err := m.Check(heddle.HostFacts{Links: []heddle.LinkFact{lan}}, n); !errors.As(err, &refused) || refused.Code != heddle.BadOption {
		t.Fatalf("mode %s: %v", m.Name(), err)
	}
	if strings.Contains(refused.Remedy, "no options") {
		return nil
	}
	_, list, found := strings.Cut(strings.TrimSuffix(refused.Remedy, ", or leave it out"), "give one of ")
	if !found {
		t.Fatalf("mode %s: %s", m.Name(), refused.Remedy)
	}
	return strings.Split(list, ", ")
}
