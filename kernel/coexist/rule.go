package coexist

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/heddle-network/heddle"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"github.com/google/nftables/xt"
)

// admitMark is the comment by which our rules in others' chains are known.
const admitMark = heddle.Mark + ":admit"

// admitMarkAgain marks the rules that replace others in a legacy table. iptables deletes the first
// rule with a given text, so the texts of old and new rules must differ.
const admitMarkAgain = admitMark + ":again"

// isAdmitMark reports whether a comment is the mark of a rule of ours.
func isAdmitMark(s string) bool { return s == admitMark || s == admitMarkAgain }

// An admission accepts what comes from, or goes to, the devices whose names start with a prefix of
// ours.
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

// exprs is the rule in the only form that iptables-nft can read back: it shows an interface name
// compared without the trailing NUL as "hb+". A key that iptables-nft does not know, such as
// iifgroup, makes it fail on the whole table, and dockerd and ufw with it. A set of names means no
// condition to it, so that a save and restore would turn our rule into "accept everything".
func (a admission) exprs() []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: a.key, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte(a.prefix)},
		&expr.Counter{},
		&expr.Verdict{Kind: expr.VerdictAccept},
	}
}

// nft is the command that a person would type for the rule in a chain, before the rule with a
// handle. Handle 0 means the end of the chain.
func (a admission) nft(chain *nftables.Chain, before uint64) string {
	word := "iifname"
	if a.key == expr.MetaKeyOIFNAME {
		word = "oifname"
	}
	command := "add rule " + chainTitle(chain)
	if before != 0 {
		command = fmt.Sprintf("insert rule %s position %d", chainTitle(chain), before)
	}
	return fmt.Sprintf(`nft %s %s "%s*" counter accept comment "%s"`, command, word, a.prefix, admitMark)
}

// iptables is the rule as arguments of iptables, with one of our marks.
func (a admission) iptables(mark string) []string {
	flag := "-i"
	if a.key == expr.MetaKeyOIFNAME {
		flag = "-o"
	}
	return []string{flag, a.prefix + "+", "-m", "comment", "--comment", mark, "-j", "ACCEPT"}
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

// markData is the mark in the form in which nft keeps comments; iptables-nft shows it as a comment
// match. The reverse does not hold: nft 1.0.6 prints nothing for a comment match. So this is the
// form that both programs show.
var markData = userdata.Append(nil, userdata.TypeComment, []byte(admitMark+"\x00"))

// isAdmission reports whether a rule has our mark: as we wrote it, or as the comment match into
// which iptables-nft-restore turns it.
func isAdmission(r *nftables.Rule) bool {
	// The whole field is compared: others store bytes in it that are no comments.
	if bytes.Equal(r.UserData, markData) {
		return true
	}
	for _, e := range r.Exprs {
		if m, ok := e.(*expr.Match); ok {
			if c, ok := m.Info.(*xt.Comment); ok && isAdmitMark(string(*c)) {
				return true
			}
		}
	}
	return false
}

// stepOf is the step for a rule of somebody else.
func stepOf(r *nftables.Rule) (s step) {
	s.does = tells
	for _, e := range r.Exprs {
		switch e := e.(type) {
		case *expr.Meta:
			s.under = max(s.under, metaCondition(e))
		case *expr.Cmp:
			// The rule names an interface of ours on purpose.
			if s.under == byInterface && (strings.HasPrefix(string(e.Data), heddle.PrefixBridge) || strings.HasPrefix(string(e.Data), heddle.PrefixPort)) {
				s.under = closely
			}
		case *expr.Match:
			if e.Name != "comment" {
				s.under = closely
			}
		case *expr.Reject:
			s.does = drops
		case *expr.Queue:
			s.does = decides
		case *expr.Verdict:
			s.verdict(e)
		case *expr.Target:
			s.xtables(e.Name)
		case *expr.Lookup:
			s.under = closely
			// A lookup into register 0 is a verdict map.
			if e.IsDestRegSet && e.DestRegister == 0 {
				s.does = decides
			}
		case *expr.Counter, *expr.Log, *expr.Immediate, *expr.Bitwise, *expr.Range, *expr.Notrack:
		default:
			s.under = closely
		}
	}
	if s.under == byProtocol && !rejects(r) {
		s.under = closely
	}
	return s
}

func metaCondition(m *expr.Meta) condition {
	if m.SourceRegister {
		return always // the rule sets a value
	}
	switch m.Key {
	case expr.MetaKeyIIF, expr.MetaKeyOIF, expr.MetaKeyIIFNAME, expr.MetaKeyOIFNAME, expr.MetaKeyIIFGROUP, expr.MetaKeyOIFGROUP:
		return byInterface
	case expr.MetaKeyL4PROTO:
		return byProtocol
	}
	return closely
}

func (s *step) verdict(v *expr.Verdict) {
	switch v.Kind {
	case expr.VerdictDrop:
		s.does = drops
	case expr.VerdictJump, expr.VerdictGoto:
		s.does, s.target = leads, v.Chain
	case expr.VerdictContinue:
	default:
		s.does = decides
	}
}

// xtables handles a target of iptables-nft that is not a verdict.
func (s *step) xtables(target string) {
	switch {
	case target == "REJECT" || target == "DROP":
		s.does = drops
	case target == "ACCEPT" || target == "RETURN" || !harmlessTargets[target]:
		s.does = decides
	}
}

// rejects reports whether a rule answers the packets that it drops.
func rejects(r *nftables.Rule) bool {
	for _, e := range r.Exprs {
		switch e := e.(type) {
		case *expr.Reject:
			return true
		case *expr.Target:
			return e.Name == "REJECT"
		}
	}
	return false
}

// harmlessTargets are the xtables targets that let a packet go on, or accept it. Any other target
// may be a REJECT or a chain of somebody.
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
