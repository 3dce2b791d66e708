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
