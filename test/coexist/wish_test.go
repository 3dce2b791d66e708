package coexist_test

import (
	"testing"
	"time"
)

// Clouds' metadata services (of EC2, and others).
var metadata = map[int]string{v4: "169.254.169.254", v6: "fd00:ec2::254"}

// metadata gives the world outside the addresses of a metadata service.
func (l *lab) metadata(t *testing.T) {
	t.Helper()
	for family, a := range metadata {
		bits, via := "/32", addresses["out"][0]
		if family == v6 {
			bits, via = "/128", addresses["out"][1]
		}
		run(t, "", "ip", "-n", l.prefix+"out", "address", "add", a+bits, "dev", "eth0")
		run(t, "", "ip", "-n", l.prefix+"host", "route", "add", a, "via", via)
	}
	l.mustReachMetadata(t, "before")
}

func (l *lab) mustReachMetadata(t *testing.T, when string) {
	t.Helper()
	for _, from := range []string{"near", "routed"} {
		for _, a := range metadata {
			if !l.dial(t, from, a, time.Minute) {
				t.Fatalf("%s: %s does not reach %s\n%s", when, from, a, l.theirs(t))
			}
		}
	}
}

// deniesMetadata checks that containers reach all but the metadata service.
func (l *lab) deniesMetadata(t *testing.T, families int) {
	t.Helper()
	for _, from := range []string{"near", "routed"} {
		for family, a := range metadata {
			if families&family != 0 && l.dial(t, from, a, 600*time.Millisecond) {
				t.Errorf("%s reaches %s\n%s", from, a, l.dump(t))
			}
		}
	}
	l.mustPass(t, "beside the user's drop")
}

// TestExplicitDrops meets a user's own rules against the metadata service, as the
// guide has them, beside a policy that drops: in the chain before ours came, put there
// later behind ours, and in a chain of its own.
func TestExplicitDrops(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			need(t, p.name)
			l := newLab(t)
			l.metadata(t)
			l.dropForward(t, p.name)
			l.host(t, p.name, "-A", "FORWARD", "-d", metadata[p.families], "-j", "DROP")
			l.opens(t, p.families, 4)
			l.deniesMetadata(t, p.families)
			l.host(t, p.name, "-D", "FORWARD", "-d", metadata[p.families], "-j", "DROP")
			l.admit(t)
			l.mustReachMetadata(t, "without the drop")
			l.host(t, p.name, "-A", "FORWARD", "-d", metadata[p.families], "-j", "DROP")
			if changed := l.admit(t); len(changed) != 4 {
				t.Fatalf("behind a drop that was added, Admit put %q", changed)
			}
			l.deniesMetadata(t, p.families)
			l.closes(t, p.families)
		})
	}
	t.Run("nft", func(t *testing.T) {
		l := newLab(t)
		l.metadata(t)
		l.nft(t, `
table inet mine {
	chain forward {
		type filter hook forward priority filter; policy drop;
		ip daddr 169.254.169.254 drop
		ip6 daddr fd00:ec2::254 drop
	}
}`)
		l.opens(t, both, 4)
		l.deniesMetadata(t, both)
		l.nft(t, "flush chain inet mine forward; chain inet mine forward { policy accept; }")
		l.admit(t)
		l.mustReachMetadata(t, "without the drops")
		l.nft(t, "add rule inet mine forward ip daddr 169.254.169.254 drop; add rule inet mine forward ip6 daddr fd00:ec2::254 drop")
		if all := append(l.admit(t), l.admitted(t)...); len(all) != 0 {
			t.Fatalf("where nothing is dropped but by name, Admit put %q", all)
		}
		l.deniesMetadata(t, both)
	})
}

// TestHeadRules meets rules of an earlier version at a chain's head.
func TestHeadRules(t *testing.T) {
	l := newLab(t)
	l.metadata(t)
	l.nft(t, `
table inet mine {
	chain forward {
		type filter hook forward priority filter; policy drop;
		iifname "hb*" counter accept comment "heddle:admit"
		iifname "hd*" counter accept comment "heddle:admit"
		oifname "hb*" counter accept comment "heddle:admit"
		oifname "hd*" counter accept comment "heddle:admit"
		ip daddr 169.254.169.254 drop
	}
}`)
	if changed := l.admit(t); len(changed) != 4 {
		t.Fatalf("Admit put %q", changed)
	}
	l.deniesMetadata(t, v4)
	if all := l.admitted(t); len(all) != 4 {
		t.Fatalf("there are %q", all)
	}
}
