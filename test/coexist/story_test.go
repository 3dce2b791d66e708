package coexist_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// admit calls Admit and returns what it says it changed.
func (l *lab) admit(t *testing.T) (changed []string) {
	t.Helper()
	l.in(t, "host", func() {
		var err error
		if changed, err = l.c.Admit(); err != nil {
			t.Errorf("Admit: %v", err)
		}
	})
	return changed
}

func (l *lab) admitted(t *testing.T) (all []string) {
	t.Helper()
	l.in(t, "host", func() {
		var err error
		if all, err = l.c.Admitted(); err != nil {
			t.Errorf("Admitted: %v", err)
		}
	})
	return all
}

func (l *lab) withdraw(t *testing.T) {
	t.Helper()
	l.in(t, "host", func() {
		if err := l.c.Withdraw(); err != nil {
			t.Errorf("Withdraw: %v", err)
		}
	})
}

// opens checks the whole story of a foreign firewall that stands and blocks:
// Admit opens it, a second one changes nothing, and theirs stays as it was.
func (l *lab) opens(t *testing.T, families, rules int) {
	t.Helper()
	before := l.theirs(t)
	l.mustBlock(t, families, "before Admit")
	if changed := l.admit(t); len(changed) != rules {
		t.Fatalf("Admit inserted %d rules, want %d: %q", len(changed), rules, changed)
	}
	l.mustPass(t, "after Admit")
	if changed := l.admit(t); len(changed) != 0 {
		t.Fatalf("a second Admit inserted %q", changed)
	}
	if all := l.admitted(t); len(all) != rules {
		t.Fatalf("%d rules are admitted, want %d: %q", len(all), rules, all)
	}
	l.unchanged(t, before, "after Admit")
}

// closes checks that Withdraw leaves theirs as it was, and blocking again.
func (l *lab) closes(t *testing.T, families int) {
	t.Helper()
	before := l.theirs(t)
	l.withdraw(t)
	if all := l.admitted(t); len(all) != 0 {
		t.Fatalf("after Withdraw there are %q", all)
	}
	if dump := l.dump(t); dump != before {
		t.Fatalf("after Withdraw theirs differs:\n%s\nwas:\n%s", dump, before)
	}
	l.mustBlock(t, families, "after Withdraw")
}

func (l *lab) unchanged(t *testing.T, before, when string) {
	t.Helper()
	if now := l.theirs(t); now != before {
		t.Fatalf("%s theirs differs:\n%s\nwas:\n%s", when, now, before)
	}
}

var volatile = regexp.MustCompile(`(?m)^#.*\n| \[\d+:\d+\]$`)

// dump is all rules of the host, without counters.
func (l *lab) dump(t *testing.T) string {
	t.Helper()
	all := l.host(t, "nft", "-s", "list", "ruleset")
	for _, program := range []string{"iptables-legacy-save", "ip6tables-legacy-save"} {
		// Without legacy tables in use these print nothing, and load nothing.
		if _, err := exec.LookPath(program); err == nil {
			all += volatile.ReplaceAllString(l.host(t, program), "")
		}
	}
	return all
}

// theirs is the dump without our rules.
func (l *lab) theirs(t *testing.T) string {
	t.Helper()
	var kept []string
	for _, line := range strings.SplitAfter(l.dump(t), "\n") {
		if !strings.Contains(line, "heddle:admit") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
