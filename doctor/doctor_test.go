package doctor

import (
	"context"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heddle-network/heddle/mode"
)

var update = flag.Bool("update", false, "write docs/doctor.md anew")

var all = Checks(mode.All())

// TestChecks holds each check to its form.
func TestChecks(t *testing.T) {
	if len(all) < 40 {
		t.Errorf("%d checks only", len(all))
	}
	form, seen := regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`), map[string]bool{}
	for _, c := range all {
		if !form.MatchString(c.ID) || seen[c.ID] {
			t.Errorf("%s is no id, or is there twice", c.ID)
		}
		seen[c.ID] = true
		if c.Title == "" || c.Wrong == "" || c.Wrong == c.Title || c.Looks == "" || c.Why == "" || c.Remedy == "" || c.Family == "" {
			t.Errorf("%s says too little", c.ID)
		}
		if c.Severity != Note && c.Severity != Warn && c.Severity != Fail {
			t.Errorf("%s has severity %q", c.ID, c.Severity)
		}
	}
	for _, c := range all {
		if seen[c.Family] {
			t.Errorf("family %s is a check's id, too", c.Family)
		}
	}
}

// TestPage writes the page of the checks.
func TestPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What the doctor looks at\n\nThis page is made from the checks. `heddle doctor` makes them all, `heddle explain CHECK`\nprints one of these paragraphs, `heddle doctor --fix` does what is marked.\n")
	family := ""
	for _, c := range all {
		if c.Family != family {
			family = c.Family
			fmt.Fprintf(&b, "\n## %s\n", family)
		}
		fix := ""
		if c.Fixable {
			fix = ", `--fix` does it"
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s. (%s%s)\n\n- Looks at: %s\n- %s\n- What to do: %s\n", c.ID, c.Title, c.Severity, fix, c.Looks, c.Why, c.Remedy)
	}
	path := filepath.Join("..", "docs", "doctor.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("%s differs (go test ./doctor -update writes it anew):\n%s", path, d)
	}
}

const ruleset = `# Warning: table ip filter is managed by iptables-nft, do not touch!
table ip filter {
	set blocked {
		type ipv4_addr
		elements = { 203.0.113.7 }
	}

	chain FORWARD {
		type filter hook forward priority filter; policy drop;
		iifname "hb*" counter packets 0 bytes 0 accept
		iifname "hd*" counter packets 0 bytes 0 accept
		oifname "hb*" counter packets 0 bytes 0 accept
		oifname "hd*" counter packets 0 bytes 0 accept
		jump DOCKER
	}

	chain DOCKER {
		ip saddr 10.20.0.0/24 drop
	}
}
table inet strict {
	chain in {
		type filter hook input priority 0; policy accept;
	}
}
`

func TestParseRuleset(t *testing.T) {
	chains := parseRuleset(ruleset)
	if len(chains) != 3 {
		t.Fatalf("%+v", chains)
	}
	f := chains[0]
	if f.title() != "ip filter FORWARD" || f.hook != "forward" || !f.drops || len(f.rules) != 5 || !f.hasAcceptRules() {
		t.Errorf("%+v", f)
	}
	if d := chains[1]; d.hook != "" || d.drops || d.hasAcceptRules() || len(d.rules) != 1 {
		t.Errorf("%+v", d)
	}
	if in := chains[2]; in.title() != "inet strict in" || in.drops {
		t.Errorf("%+v", in)
	}
}

func TestParseLegacy(t *testing.T) {
	chains := parseLegacy(legacyFamilies[0], "filter", "-P FORWARD DROP\n-N MINE\n-A FORWARD -i hb+ -m comment --comment heddle:admit -j ACCEPT\n-A FORWARD -j MINE\n-A MINE -s 10.0.0.0/8 -j DROP\n")
	if len(chains) != 2 || !chains[0].drops || chains[0].hook != "forward" || len(chains[0].rules) != 2 || chains[0].hasAcceptRules() || len(chains[1].rules) != 1 {
		t.Errorf("%+v", chains)
	}
}

func TestConcerns(t *testing.T) {
	ours := []subnet{{prefix: netip.MustParsePrefix("10.20.0.0/24")}, {prefix: netip.MustParsePrefix("fd20::/64")}}
	for rule, want := range map[string]bool{
		"drop":                                  true,
		"ct state invalid drop":                 true,
		"ip saddr 10.20.0.9 drop":               true,
		"ip daddr 10.0.0.0/8 drop":              true,
		"ip saddr 192.0.2.0/24 drop":            false,
		"ip6 saddr fd20::/48 drop":              true,
		"ip6 saddr 2001:db8::/32 drop":          false,
		`iifname "eth0" drop`:                   false,
		`iifname "hd*" drop`:                    true,
		`oifname "hb0123456789" reject`:         true,
		`iifname "docker0" oifname "eth0" drop`: false,
		"-A FORWARD -i hb+ -j DROP":             true,
		"-A FORWARD -i docker0 -j DROP":         false,
		"-A FORWARD -d 10.20.0.2/32 -j DROP":    true,
	} {
		if got := concerns(rule, ours); got != want {
			t.Errorf("%s: %v, want %v", rule, got, want)
		}
	}
}

func TestMatchesOurs(t *testing.T) {
	for text, want := range map[string]bool{
		"[Match]\nName=*":                        true,
		"[Match]\nName=eth0 h*":                  true,
		"[Match]\nName=en*":                      false,
		"[Match]\nType=ether":                    true,
		"[Match]\nKind=veth":                     true,
		"[Match]\nKind=veth\nName=ve-*":          false,
		"[Match]\nType=wlan":                     false,
		"[Match]\nMACAddress=02:00:00:00:00:01":  false,
		"[Match]\nType=ether\nDriver=virtio_net": false,
	} {
		file := filepath.Join(t.TempDir(), "x.network")
		if err := os.WriteFile(file, []byte(text+"\n\n[Network]\nDHCP=yes\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if match, _ := networkFile(file); match.matchesOurs() != want {
			t.Errorf("%q: %v, want %v", text, !want, want)
		}
	}
}

func TestInRanges(t *testing.T) {
	for port, want := range map[int]bool{8080: true, 8081: false, 9148: true, 9149: true, 9151: false} {
		if got := inRanges(port, "8080,9148-9150"); got != want {
			t.Errorf("%d: %v", port, got)
		}
	}
}

// TestHeadline: the headline of a finding says what is, not what should be.
func TestHeadline(t *testing.T) {
	for state, want := range map[State]string{OK: "It is so", Skip: "It is so", Note: "It is not so", Fail: "It is not so"} {
		c := Check{Title: "It is so", Wrong: "It is not so", look: func(context.Context, *Host) Finding { return Finding{State: state} }}
		if got := c.run(t.Context(), nil); got.Title != want {
			t.Errorf("state %s: %q", state, got.Title)
		}
	}
}

// TestFileSystemRemedy: nobody is sent where they are already.
func TestFileSystemRemedy(t *testing.T) {
	for dir, word := range map[string]string{"/run/heddle": "tmpfs", "/srv/run": "below /run"} {
		if got := fileSystemRemedy(dir, true); !strings.Contains(got, word) {
			t.Errorf("%s: %s", dir, got)
		}
	}
}
