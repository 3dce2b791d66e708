package coexist_test

import (
	"testing"
)

const firewalldLike = `
table inet firewalld {
	chain filter_FORWARD {
		type filter hook forward priority filter + 10; policy accept;
		ct state { established, related } accept
		ct status dnat accept
		iifname "lo" accept
		jump filter_FORWARD_POLICIES
		ct state { invalid } drop
		reject with icmpx admin-prohibited
	}
	chain filter_FORWARD_POLICIES {
	}
}`

// TestFirewalld meets a chain that accepts by policy but ends in a reject, and
// is made anew at every reload.
func TestFirewalld(t *testing.T) {
	l := newLab(t)
	l.nft(t, firewalldLike)
	l.opens(t, both, 4)
	l.nft(t, "delete table inet firewalld"+firewalldLike)
	l.opens(t, both, 4)
	l.closes(t, both)
}

// TestReloadStorm admits while the chains come and go.
func TestReloadStorm(t *testing.T) {
	l := newLab(t)
	l.nft(t, firewalldLike)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		l.in(t, "host", func() {
			for {
				if _, err := l.c.Admit(); err != nil {
					t.Errorf("Admit during a reload: %v", err)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}()
	for range 40 {
		l.nft(t, "delete table inet firewalld")
		l.nft(t, firewalldLike)
	}
	close(stop)
	<-done
	l.admit(t)
	l.mustPass(t, "after the storm")
	if all := l.admitted(t); len(all) != 4 {
		t.Fatalf("after the storm there are %q", all)
	}
}

// TestFlushRuleset meets "nft flush ruleset", which takes our rules and tables.
func TestFlushRuleset(t *testing.T) {
	l := newLab(t)
	l.nft(t, firewalldLike)
	l.opens(t, both, 4)
	l.host(t, "nft", "flush", "ruleset")
	if changed := l.admit(t); len(changed) != 0 {
		t.Fatalf("in an empty ruleset, Admit inserted %q", changed)
	}
	l.mustPass(t, "after the flush")
	l.nft(t, firewalldLike)
	l.opens(t, both, 4)
	l.closes(t, both)
}
