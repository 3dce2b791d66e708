package kernel

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ruleKind are the rules of policy routing.
type ruleKind struct{}

func (ruleKind) make(a *attempt, s *session, want *heddle.State) error {
	return each(want.Rules, func(x heddle.Rule) error { return a.rule(s, x) })
}

// rule makes a policy rule. The kernel accepts a second rule that differs only in its table, so
// rules of ours that are in the way are removed. If this call has made a link, the endpoint is new
// and there can be no such rule; so an attach does not list all rules.
func (a *attempt) rule(s *session, x heddle.Rule) error {
	return a.step("make", x.Key(), func() error {
		err := s.rt.execute(ruleRequest(unix.RTM_NEWRULE, excl, x))
		if err == nil {
			a.recordCreated(s, x.Key(), func() error { return s.rt.execute(ruleRequest(unix.RTM_DELRULE, 0, x)) })
		}
		if err != nil && !exists(err) || len(a.fresh) > 0 {
			return ignoreExists(err)
		}
		live, err := s.rules()
		for _, old := range live {
			if old.Key() != x.Key() || old == x {
				continue
			}
			a.recordUndo(x.Key(), func() error { return s.rt.execute(ruleRequest(unix.RTM_NEWRULE, excl, old)) })
			err = errors.Join(err, s.rt.execute(ruleRequest(unix.RTM_DELRULE, 0, old)))
			if x.OnlyGrouped && !old.OnlyGrouped { // a request that does not say so is about either (rule_find): the new one may have gone first
				err = errors.Join(err, ignoreAbsent(s.rt.execute(ruleRequest(unix.RTM_DELRULE, 0, old))), s.rt.execute(ruleRequest(unix.RTM_NEWRULE, excl, x)))
			}
		}
		return err
	})
}

func (ruleKind) compare(d *differ, want *heddle.State) error {
	live, err := d.s.rules()
	if err != nil {
		return err
	}
	there := map[string][]heddle.Rule{}
	for _, r := range live {
		there[r.Key()] = append(there[r.Key()], r)
	}
	return each(want.Rules, func(r heddle.Rule) error {
		switch have := there[r.Key()]; {
		case len(have) == 0:
			return d.missing(r)
		case len(have) > 1 || have[0] != r:
			return d.differs(r, "want %s, have %s", r, have)
		}
		return nil
	})
}

func (ruleKind) remove(r *removal, s *session, gone *heddle.State) {
	for _, x := range slices.Backward(gone.Rules) {
		r.step(s, x.Key(), "", func() error { return s.rt.execute(ruleRequest(unix.RTM_DELRULE, 0, x)) })
	}
}

func (ruleKind) own(v *inventory) (err error) {
	v.found.Rules, err = v.s.rules()
	return err
}

// fr_act of linux/fib_rules.h: look up the destination in a table.
const actionTable = 1

// ruleRequest is an RTM_NEWRULE or RTM_DELRULE request about a rule of ours. struct fib_rule_hdr
// has the layout of struct rtmsg, with the action in the field for the type.
func ruleRequest(kind, flags int, r heddle.Rule) *nl.NetlinkRequest {
	head := &nl.RtMsg{RtMsg: unix.RtMsg{Family: unix.AF_INET, Type: actionTable}}
	if r.Table < 256 {
		head.Table = uint8(r.Table)
	}
	if r.From.Addr().Is6() || r.To.Addr().Is6() {
		head.Family = unix.AF_INET6
	}
	req := request(kind, flags, head)
	if r.From.IsValid() {
		head.Src_len = uint8(r.From.Bits())
		req.AddData(nl.NewRtAttr(nl.FRA_SRC, r.From.Masked().Addr().AsSlice()))
	}
	if r.To.IsValid() {
		head.Dst_len = uint8(r.To.Bits())
		req.AddData(nl.NewRtAttr(nl.FRA_DST, r.To.Masked().Addr().AsSlice()))
	}
	if r.Iif != "" {
		req.AddData(textAttr(nl.FRA_IIFNAME, r.Iif))
	}
	req.AddData(numberAttr(nl.FRA_PRIORITY, uint32(r.Priority)))
	req.AddData(numberAttr(nl.FRA_TABLE, uint32(r.Table)))
	if r.OnlyGrouped {
		req.AddData(numberAttr(nl.FRA_SUPPRESS_IFGROUP, 0))
		req.AddData(numberAttr(nl.FRA_SUPPRESS_PREFIXLEN, 0))
	}
	req.AddData(octetAttr(nl.FRA_PROTOCOL, heddle.RouteProtocol))
	return req
}

// rules lists our rules of both families.
func (s *session) rules() ([]heddle.Rule, error) {
	return listBoth(s.rt, func(family uint8) *nl.NetlinkRequest {
		return request(unix.RTM_GETRULE, 0, &nl.RtMsg{RtMsg: unix.RtMsg{Family: family}})
	}, decodeRule)
}

func decodeRule(b []byte) (heddle.Rule, bool) {
	if len(b) < unix.SizeofRtMsg {
		return heddle.Rule{}, false
	}
	head, at := nl.DeserializeRtMsg(b), attributes(b[unix.SizeofRtMsg:])
	if octet(at.get(nl.FRA_PROTOCOL)) != heddle.RouteProtocol {
		return heddle.Rule{}, false
	}
	r := heddle.Rule{Priority: int(number(at.get(nl.FRA_PRIORITY))), Iif: text(at.get(nl.FRA_IIFNAME)), Table: int(number(at.get(nl.FRA_TABLE)))}
	group, length := at.get(nl.FRA_SUPPRESS_IFGROUP), at.get(nl.FRA_SUPPRESS_PREFIXLEN) // which the kernel leaves out if there are none
	r.OnlyGrouped = group != nil && number(group) == 0 && length != nil && number(length) == 0
	if from, ok := netip.AddrFromSlice(at.get(nl.FRA_SRC)); ok {
		r.From = netip.PrefixFrom(from, int(head.Src_len))
	}
	if to, ok := netip.AddrFromSlice(at.get(nl.FRA_DST)); ok {
		r.To = netip.PrefixFrom(to, int(head.Dst_len))
	}
	return r, true
}
