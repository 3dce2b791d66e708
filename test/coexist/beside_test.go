package coexist_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBeside has somebody insert a rule at the head of the legacy chain FORWARD each
// time that we are about to delete one of ours: his rules stay, and ours move.
func TestBeside(t *testing.T) {
	for _, p := range programs[2:] {
		t.Run(p.name, func(t *testing.T) {
			need(t, p.name)
			real, err := exec.LookPath(p.name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			script := fmt.Sprintf(`#!/bin/sh
case " $* " in *" -D "*)
	%[1]s -w 5 -I FORWARD -i theirs$(wc -l <%[2]s/times) -j DROP
	echo >>%[2]s/times
esac
exec %[1]s "$@"
`, real, dir)
			if err := os.WriteFile(filepath.Join(dir, p.name), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "times"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			path := os.Getenv("PATH")
			t.Setenv("PATH", dir+":"+path) // for the agent's side
			l := newLab(t)
			l.host(t, real, "-P", "FORWARD", "DROP")
			l.admit(t)
			last := "-A FORWARD -i late0 -j DROP"
			l.host(t, append([]string{real}, strings.Fields(last)...)...)
			// what is left of a move that was cut off
			l.host(t, real, "-A", "FORWARD", "-i", "hb+", "-m", "comment", "--comment", "heddle:admit:again", "-j", "ACCEPT")
			for range 3 { // a rule beside puts ours one place off: they are moved again
				l.admit(t)
			}
			all := l.host(t, real, "-S", "FORWARD")
			times, err := os.ReadFile(filepath.Join(dir, "times"))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(times), "\n"); n < 5 || strings.Count(all, "-i theirs") != n {
				t.Errorf("%d rules were inserted beside:\n%s", n, all)
			}
			if _, behind, found := strings.Cut(all, last); !found || strings.Count(behind, "heddle:admit") != 4 || strings.Count(all, "heddle:admit") != 4 {
				t.Errorf("not the four rules behind the last one:\n%s", all)
			}
			if changed := l.admit(t); len(changed) != 0 {
				t.Errorf("another Admit inserted %q", changed)
			}
			l.mustPass(t, "after the move")
			l.withdraw(t)
			if all := l.host(t, real, "-S", "FORWARD"); strings.Contains(all, "heddle") || !strings.Contains(all, last) {
				t.Errorf("after Withdraw:\n%s", all)
			}
		})
	}
}
