package kernel

import (
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/xt"
)

func TestMarkIsKnownAgain(t *testing.T) {
	comment := func(s string) []expr.Any {
		c := xt.Comment(s)
		return []expr.Any{&expr.Match{Name: "comment", Info: &c}}
	}
	for name, c := range map[string]struct {
		rule nftables.Rule
		ours bool
	}{
		"as we write it":       {nftables.Rule{UserData: markData}, true},
		"as iptables restores": {nftables.Rule{Exprs: comment(admitMark)}, true},
		"another's comment":    {nftables.Rule{Exprs: comment("heddle:admitted")}, false},
		// Some programs keep plain text there, whose second byte is no length.
		"another's text": {nftables.Rule{UserData: []byte("heddle:admit")}, false},
		"none":           {nftables.Rule{}, false},
	} {
		if got := isAdmission(&c.rule); got != c.ours {
			t.Errorf("%s: ours is %v", name, got)
		}
	}
}

func TestAdmissionsAreToldApart(t *testing.T) {
	for i, a := range admissions {
		for j, b := range admissions {
			if got := a.is(&nftables.Rule{Exprs: b.exprs()}); got != (i == j) {
				t.Errorf("%v is %v: %v", a, b, got)
			}
		}
	}
}

func TestMayDrop(t *testing.T) {
	for _, c := range []struct {
		e    expr.Any
		want bool
	}{
		{&expr.Verdict{Kind: expr.VerdictDrop}, true},
		{&expr.Verdict{Kind: expr.VerdictJump, Chain: "x"}, true},
		{&expr.Verdict{Kind: expr.VerdictGoto, Chain: "x"}, true},
		{&expr.Verdict{Kind: expr.VerdictAccept}, false},
		{&expr.Verdict{Kind: expr.VerdictReturn}, false},
		{&expr.Reject{}, true},
		{&expr.Queue{}, true},
		{&expr.Counter{}, false},
		{&expr.Lookup{IsDestRegSet: true}, true},
		{&expr.Lookup{IsDestRegSet: true, DestRegister: 1}, false},
		{&expr.Lookup{}, false},
		{&expr.Target{Name: "REJECT"}, true},
		{&expr.Target{Name: "TCPMSS"}, false},
	} {
		if got := mayDrop(&nftables.Rule{Exprs: []expr.Any{c.e}}); got != c.want {
			t.Errorf("%#v: %v", c.e, got)
		}
	}
}

func TestLegacyMayDrop(t *testing.T) {
	for line, want := range map[string]bool{
		"-P FORWARD DROP":                              true,
		"-P FORWARD ACCEPT":                            false,
		"-A FORWARD -j STRANGER":                       true,
		"-A FORWARD -g STRANGER":                       true,
		"-A FORWARD -j REJECT --reject-with icmp-port": true,
		"-A FORWARD -i a -j ACCEPT":                    false,
		"-A FORWARD -j LOG --log-prefix x":             false,
		admissions[0].legacyLine():                     false,
		"":                                             false,
	} {
		if got := legacyMayDrop([]string{line}); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
