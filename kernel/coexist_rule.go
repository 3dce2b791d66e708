package kernel

import (
	"bytes"
	"fmt"
	"strings"

	heddle "github.com/heddle-network/heddle"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"github.com/google/nftables/xt"
)

// admitMark is the comment by which our rules in others' chains are known.
const admitMark = heddle.Mark + ":admit"

// An admission lets pass what comes from, or goes to, the devices whose names
// start with a prefix of ours.
type admission struct {
	key    expr.MetaKey
	prefix string
}

// The order is that of the rules in the chain.
var admissions = []admission{
	{expr.MetaKeyIIFNAME, heddle.PrefixBridge},
	{expr.MetaKeyIIFNAME, heddle.PrefixPort},
	{expr.MetaKeyOIFNAME, heddle.PrefixBridge},
	{expr.MetaKeyOIFNAME, heddle.PrefixPort},
}

// exprs is the rule in the only words that iptables-nft reads back: an
// interface compared without its trailing NUL is its "hb+". A key it does not
// know, such as iifgroup, makes it fail on the whole table, and dockerd and ufw
// with it; a set of names it takes for no condition at all, so that a save and
// restore would turn ours into "accept everything".
func (a admission) exprs() []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: a.key, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte(a.prefix)},
		&expr.Counter{},
		&expr.Verdict{Kind: expr.VerdictAccept},
	}
}

// nft is what a person would type for the rule in a chain.
func (a admission) nft(chain *nftables.Chain) string {
	word := "iifname"
	if a.key == expr.MetaKeyOIFNAME {
		word = "oifname"
	}
	return fmt.Sprintf(`nft insert rule %s %s "%s*" counter accept comment "%s"`, chainTitle(chain), word, a.prefix, admitMark)
}

// iptables is the rule in the words of iptables.
func (a admission) iptables() []string {
	flag := "-i"
	if a.key == expr.MetaKeyOIFNAME {
		flag = "-o"
	}
	return []string{flag, a.prefix + "+", "-m", "comment", "--comment", admitMark, "-j", "ACCEPT"}
}

// is reports whether a marked rule is this admission.
func (a admission) is(r *nftables.Rule) bool {
	key, prefix := false, false
	for _, e := range r.Exprs {
		switch e := e.(type) {
		case *expr.Meta:
			key = e.Key == a.key
		case *expr.Cmp:
			prefix = string(e.Data) == a.prefix
		}
	}
	return key && prefix
}

// markData is the mark as nft keeps comments: iptables-nft shows it as a
// comment match. The reverse does not hold (nft 1.0.6 prints nothing for a
// comment match), so this is what both show.
var markData = userdata.Append(nil, userdata.TypeComment, []byte(admitMark+"\x00"))

// isAdmission reports whether a rule bears our mark: as we wrote it, or as a
// comment match, which is what iptables-nft-restore makes of ours.
func isAdmission(r *nftables.Rule) bool {
	// Compared whole: others keep bytes in there that are no comments at all.
	if bytes.Equal(r.UserData, markData) {
		return true
	}
	for _, e := range r.Exprs {
		if m, ok := e.(*expr.Match); ok {
			if c, ok := m.Info.(*xt.Comment); ok && string(*c) == admitMark {
				return true
			}
		}
	}
	return false
}

// mayDrop reports whether a rule could end a packet's way. A jump counts
// without a look at where it goes: others fill those chains at any time.
func mayDrop(r *nftables.Rule) bool {
	for _, e := range r.Exprs {
		switch e := e.(type) {
		case *expr.Reject, *expr.Queue:
			return true
		case *expr.Verdict:
			switch e.Kind {
			case expr.VerdictDrop, expr.VerdictJump, expr.VerdictGoto, expr.VerdictQueue:
				return true
			}
		case *expr.Lookup:
			// A lookup into register 0 is a verdict map.
			if e.IsDestRegSet && e.DestRegister == 0 {
				return true
			}
		case *expr.Target:
			if !harmlessTargets[e.Name] {
				return true
			}
		}
	}
	return false
}

// harmlessTargets are the xtables targets that let a packet go on; what is
// not named here may be a REJECT, or somebody's chain.
var harmlessTargets = map[string]bool{
	"ACCEPT": true, "RETURN": true, "LOG": true, "NFLOG": true, "AUDIT": true, "TRACE": true,
	"MARK": true, "CONNMARK": true, "SECMARK": true, "CONNSECMARK": true, "CLASSIFY": true,
	"TCPMSS": true, "TCPOPTSTRIP": true, "DSCP": true, "TOS": true, "TTL": true, "HL": true, "ECN": true,
	"SET": true, "RATEEST": true, "IDLETIMER": true, "CHECKSUM": true, "FLOWOFFLOAD": true,
}

func chainTitle(c *nftables.Chain) string {
	family := map[nftables.TableFamily]string{
		nftables.TableFamilyIPv4: "ip", nftables.TableFamilyIPv6: "ip6", nftables.TableFamilyINet: "inet",
	}[c.Table.Family]
	return strings.Join([]string{family, c.Table.Name, c.Name}, " ")
}
