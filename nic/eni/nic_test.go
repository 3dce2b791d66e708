package eni

import (
	"maps"
	"slices"
	"testing"
)

// TestByToken: of several NICs with one token that counts which is with the machine, and only then one that is attached to nothing is spare. What no agent has made is listed by
// a name that no endpoint has.
func TestByToken(t *testing.T) {
	tagged := func(token string, n NIC) NIC {
		n.Tags = map[string]string{TagMachine: me, TagToken: token}
		return n
	}
	old := tagged("e-1", NIC{ID: "eni-old", State: Attached, Instance: me, Made: "1"})
	free := tagged("e-1", NIC{ID: "eni-new", State: Free, Made: "2"})
	foreign := tagged("e-1", NIC{ID: "eni-old", State: Attached, Instance: "i-other", Made: "1"})
	busy := tagged("e-1", NIC{ID: "eni-old", State: Busy, Instance: me, Made: "1"})
	both := tagged("e-1", NIC{ID: "eni-new", State: Attaching, Instance: me, Made: "2"})
	for name, x := range map[string]struct {
		all  []NIC
		want map[string]string // IDs by token
	}{
		"one is with the machine": {[]NIC{free, old}, map[string]string{"e-1": "eni-old", "x-eni-new": "eni-new"}},
		"one is with another":     {[]NIC{foreign, free}, map[string]string{"e-1": "eni-new"}},
		"one is busy":             {[]NIC{busy, free}, map[string]string{"e-1": "eni-new"}},
		"both are":                {[]NIC{old, both}, map[string]string{"e-1": "eni-new"}},
		"a spare one's name":      {[]NIC{tagged("x-eni-9", NIC{ID: "eni-1"})}, map[string]string{"x-eni-1": "eni-1"}},
		"no token":                {[]NIC{tagged("", NIC{ID: "eni-1"})}, map[string]string{"x-eni-1": "eni-1"}},
	} {
		got := map[string]string{}
		for token, n := range byToken(slices.Clone(x.all), me) {
			got[token] = n.ID
		}
		if !maps.Equal(got, x.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
