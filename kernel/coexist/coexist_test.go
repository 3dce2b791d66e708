package coexist

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
		"as we write it":                      {nftables.Rule{UserData: markData}, true},
		"as iptables restores":                {nftables.Rule{Exprs: comment(admitMark)}, true},
		"as iptables restores one that moved": {nftables.Rule{Exprs: comment(admitMarkAgain)}, true},
		"another's comment":                   {nftables.Rule{Exprs: comment("heddle:admitted")}, false},
		// Some programs store plain text there, whose second byte is not a length.
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

func TestStepOf(t *testing.T) {
	iif := func(name string) []expr.Any {
		return []expr.Any{&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1}, &expr.Cmp{Register: 1, Data: []byte(name)}}
	}
	l4 := &expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}
	drop, jump := &expr.Verdict{Kind: expr.VerdictDrop}, &expr.Verdict{Kind: expr.VerdictJump, Chain: "x"}
	for i, c := range []struct {
		exprs []expr.Any
		want  step
	}{
		{[]expr.Any{drop}, step{does: drops}},
		{[]expr.Any{&expr.Counter{}, &expr.Log{}, &expr.Reject{}}, step{does: drops}},
		{[]expr.Any{&expr.Target{Name: "REJECT"}}, step{does: drops}},
		{[]expr.Any{&expr.Payload{}, drop}, step{does: drops, under: closely}},
		{[]expr.Any{&expr.Ct{}, drop}, step{does: drops, under: closely}},
		{[]expr.Any{&expr.Limit{}, drop}, step{does: drops, under: closely}},
		{[]expr.Any{&expr.Match{Name: "comment"}, drop}, step{does: drops}},
		{[]expr.Any{&expr.Match{Name: "conntrack"}, drop}, step{does: drops, under: closely}},
		{[]expr.Any{l4, &expr.Reject{}}, step{does: drops, under: byProtocol}},
		{[]expr.Any{l4, drop}, step{does: drops, under: closely}},
		{append(iif("eth0"), drop), step{does: drops, under: byInterface}},
		{append(iif("eth0"), jump), step{does: leads, target: "x", under: byInterface}},
		{append(iif("hb1"), jump), step{does: leads, target: "x", under: closely}},
		{[]expr.Any{&expr.Verdict{Kind: expr.VerdictGoto, Chain: "x"}}, step{does: leads, target: "x"}},
		{[]expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}}, step{}},
		{[]expr.Any{&expr.Queue{}}, step{}},
		{[]expr.Any{&expr.Counter{}, &expr.Log{}}, step{does: tells}},
		{[]expr.Any{&expr.Target{Name: "TCPMSS"}}, step{does: tells}},
		{[]expr.Any{&expr.Meta{Key: expr.MetaKeyMARK, Register: 1, SourceRegister: true}}, step{does: tells}},
		{[]expr.Any{&expr.Lookup{IsDestRegSet: true}}, step{under: closely}},
	} {
		if got := stepOf(&nftables.Rule{Exprs: c.exprs}); got != c.want {
			t.Errorf("%d: %+v, want %+v", i, got, c.want)
		}
	}
}

func TestLegacyStep(t *testing.T) {
	chains := map[string]legacyChain{"STRANGER": {}}
	for line, want := range map[string]step{
		"-A FORWARD -j STRANGER":                                  {does: leads, target: "STRANGER"},
		"-A FORWARD -g STRANGER":                                  {does: leads, target: "STRANGER"},
		"-A FORWARD -i eth0 -j STRANGER":                          {does: leads, target: "STRANGER", under: byInterface},
		"-A FORWARD -i hb+ -j STRANGER":                           {does: leads, target: "STRANGER", under: closely},
		"-A FORWARD -d 169.254.169.254/32 -j DROP":                {does: drops, under: closely},
		"-A FORWARD -j REJECT --reject-with icmp-port":            {does: drops},
		"-A FORWARD -m comment --comment the end -j DROP":         {does: drops},
		"-A FORWARD -p tcp -j REJECT --reject-with tcp-reset":     {does: drops, under: byProtocol},
		"-A FORWARD -p udp -j DROP":                               {does: drops, under: closely},
		"-A FORWARD -p tcp -m tcp --dport 99 -j REJECT":           {does: drops, under: closely},
		"-A FORWARD -m limit --limit 3/min -j LOG --log-prefix x": {does: tells, under: closely},
		"-A FORWARD -i a -j ACCEPT":                               {under: byInterface},
		"-A FORWARD ! -i a -j DROP":                               {does: drops, under: closely},
		"-A FORWARD -m conntrack --ctstate INVALID -j DROP":       {does: drops, under: closely},
		"-A FORWARD -m comment --comment -d -j DROP":              {does: drops, under: closely},
		"-A FORWARD -j NFQUEUE --queue-num 0":                     {},
	} {
		if got := legacyStep(line, chains); got != want {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}

// TestLegacyMarks: rules that replace others have the other mark, and the remains of an interrupted
// move are recognised.
func TestLegacyMarks(t *testing.T) {
	var c legacyChain
	c.add("-A FORWARD -i theirs0 -j DROP")
	if mark, stray, old := c.spare(); mark != admitMark || len(stray)+len(old) != 0 || c.settled("FORWARD", 1) {
		t.Errorf("a chain without rules of ours: %s %v %v", mark, stray, old)
	}
	put := func(mark string, n int) {
		for _, a := range admissions[:n] {
			c.add(a.legacyLine("FORWARD", mark))
		}
	}
	put(admitMark, 4)
	if mark, stray, old := c.spare(); mark != admitMarkAgain || len(stray) != 0 || len(old) != 4 || !c.settled("FORWARD", 1) || c.settled("FORWARD", 0) {
		t.Errorf("a chain with our rules: %s %v %v", mark, stray, old)
	}
	put(admitMarkAgain, 2)
	if mark, stray, old := c.spare(); mark != admitMarkAgain || len(stray) != 2 || len(old) != 4 || c.settled("FORWARD", 1) {
		t.Errorf("a move that was cut off: %s %v %v", mark, stray, old)
	}
	put(admitMarkAgain, 4)
	if mark, stray, old := c.spare(); mark != admitMark || len(stray) != 4 || len(old) != 6 {
		t.Errorf("a move of which the old rules are left: %s %v %v", mark, stray, old)
	}
	if len(c.theirs) != 1 {
		t.Errorf("somebody's rules: %v", c.theirs)
	}
}
