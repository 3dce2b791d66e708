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

// firewalldZones is firewalld as it is by default: a zone takes what no other takes,
// and rejects it itself.
const firewalldZones = `
table inet firewalld {
	chain filter_FORWARD {
		type filter hook forward priority filter + 10; policy accept;
		ct state { established, related } accept
		ct status dnat accept
		iifname "lo" accept
		ct state invalid drop
		ip6 daddr { ::/96, 2002:7f00::/24 } reject with icmpv6 addr-unreachable
		jump filter_FORWARD_ZONES
		reject with icmpx admin-prohibited
	}
	chain filter_FORWARD_ZONES {
		iifname "up0" goto filter_FWD_external
		goto filter_FWD_public
	}
	chain filter_FWD_external {
		jump filter_FWD_external_deny
		reject with icmpx admin-prohibited
	}
	chain filter_FWD_external_deny {
	}
	chain filter_FWD_public {
		jump filter_FWD_public_deny
		log prefix "filter_FWD_public_REJECT: "
		meta l4proto tcp reject with tcp reset
		reject with icmpx admin-prohibited
	}
	chain filter_FWD_public_deny {
	}
}`

// TestFirewalldZones meets drops in the zones' chains, whose own denials hold.
func TestFirewalldZones(t *testing.T) {
	l := newLab(t)
	l.metadata(t)
	l.nft(t, firewalldZones)
	l.opens(t, both, 12)
	l.nft(t, "add rule inet firewalld filter_FWD_public_deny ip daddr 169.254.169.254 reject; add rule inet firewalld filter_FWD_public_deny ip6 daddr fd00:ec2::254 reject")
	l.admit(t)
	l.deniesMetadata(t, both)
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
