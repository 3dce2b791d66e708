package coexist_test

import (
	"strings"
	"testing"
)

// program is one of the four iptables, and which family it filters.
type program struct {
	name     string
	families int
}

var programs = []program{
	{"iptables-nft", v4}, {"ip6tables-nft", v6}, {"iptables-legacy", v4}, {"ip6tables-legacy", v6},
}

// TestPolicyDrop meets what dockerd and ufw leave behind: a chain FORWARD with
// rules of somebody's and policy DROP.
func TestPolicyDrop(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			need(t, p.name, p.name+"-save", p.name+"-restore")
			l := newLab(t)
			l.dropForward(t, p.name)
			l.opens(t, p.families, 4)
			l.theirToolsWork(t, p)
			l.closes(t, p.families)
		})
	}
}

// TestAllFour meets both families on both back ends at once.
func TestAllFour(t *testing.T) {
	for _, p := range programs {
		need(t, p.name)
	}
	l := newLab(t)
	for _, p := range programs {
		l.dropForward(t, p.name)
	}
	l.opens(t, both, 16)
	l.closes(t, both)
}

func (l *lab) dropForward(t *testing.T, program string) {
	t.Helper()
	l.host(t, program, "-N", "STRANGER")
	l.host(t, program, "-A", "STRANGER", "-p", "tcp", "--dport", "99", "-m", "comment", "--comment", "theirs:not ours", "-j", "REJECT")
	l.host(t, program, "-A", "FORWARD", "-j", "STRANGER")
	l.host(t, program, "-A", "FORWARD", "-i", "docker+", "-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED", "-j", "ACCEPT")
	l.host(t, program, "-A", "FORWARD", "-m", "limit", "--limit", "3/min", "-j", "LOG", "--log-prefix", "[STRANGER] ")
	l.host(t, program, "-P", "FORWARD", "DROP")
}

// theirToolsWork checks that iptables reads, changes, saves and restores the
// table that has our rules in it, and that we know them again afterwards.
func (l *lab) theirToolsWork(t *testing.T, p program) {
	t.Helper()
	want := []string{"-i hb+", "-i hd+", "-o hb+", "-o hd+"}
	lines := strings.Split(strings.TrimSpace(l.host(t, p.name, "-S", "FORWARD")), "\n")
	for i, line := range lines[len(lines)-4:] {
		if line != `-A FORWARD `+want[i]+` -m comment --comment "heddle:admit" -j ACCEPT` {
			t.Fatalf("%s -S shows as rule %d: %s", p.name, i+1, line)
		}
	}
	l.host(t, p.name, "-I", "FORWARD", "-i", "theirs0", "-j", "DROP")
	l.host(t, p.name, "-C", "FORWARD", "-i", "theirs0", "-j", "DROP")
	l.host(t, p.name, "-D", "FORWARD", "-i", "theirs0", "-j", "DROP")
	saved := l.host(t, p.name+"-save")
	if strings.Contains(saved, "incompatible") || strings.Count(saved, "heddle:admit") != 4 {
		t.Fatalf("%s-save:\n%s", p.name, saved)
	}
	run(t, saved, "nsenter", "--net=/run/netns/"+l.prefix+"host", p.name+"-restore")
	if changed := l.admit(t); len(changed) != 0 {
		t.Fatalf("our rules were not known again after %s-restore: %q", p.name, changed)
	}
	l.mustPass(t, "after "+p.name+"-restore")
	// nft 1.0.6 does not print the comments that iptables-nft-restore makes, so
	// start over for the comparison that follows.
	l.withdraw(t)
	if changed := l.admit(t); len(changed) != 4 {
		t.Fatalf("after %s-restore and Withdraw, Admit inserted %q", p.name, changed)
	}
}
