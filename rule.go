package heddle

import (
	"fmt"
	"net/netip"
)

// Rule is a policy routing rule.
type Rule struct {
	Priority int `json:"priority"`
	// Iif is the interface that packets have arrived on; "" is any, and those of
	// this host too.
	Iif   string       `json:"iif,omitempty"`
	From  netip.Prefix `json:"from,omitzero"`
	To    netip.Prefix `json:"to,omitzero"`
	Table int          `json:"table"`
	// OnlyGrouped ignores what the table says by interfaces in group 0, where the kernel puts each
	// ("suppress_ifgroup default"), and its default routes ("suppress_prefixlength 0"), as the user
	// may have put an uplink in a group. Interfaces of ours are in groups of their networks.
	OnlyGrouped bool `json:"onlyGrouped,omitempty"`
}

func (r Rule) Key() string {
	from, to := "all", "all"
	if r.From.IsValid() {
		from = r.From.String()
	}
	if r.To.IsValid() {
		to = r.To.String()
	}
	key := fmt.Sprintf("rule/%d/%s/%s", r.Priority, from, to)
	if r.Iif != "" {
		key += "/" + r.Iif
	}
	return key
}

func (r Rule) comparable() any { return r }

// String writes the rule as ip-rule(8) takes it.
func (r Rule) String() string {
	s := fmt.Sprintf("priority %d", r.Priority)
	if r.Iif != "" {
		s += " iif " + r.Iif
	}
	if r.From.IsValid() {
		s += " from " + r.From.String()
	}
	if r.To.IsValid() {
		s += " to " + r.To.String()
	}
	s += fmt.Sprintf(" lookup %d", r.Table)
	if r.OnlyGrouped {
		s += " suppress_prefixlength 0 suppress_ifgroup default"
	}
	return s + fmt.Sprintf(" protocol %d", RouteProtocol)
}
