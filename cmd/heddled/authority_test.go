package main

import (
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/join"
)

// TestAuthorityPart has what the status says of the authority's key.
func TestAuthorityPart(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	disk, lent := join.Holding{Disk: true}, join.Holding{Lent: at}
	for _, c := range []struct {
		what        string
		custody     join.Custody
		state, word string
	}{
		{"no answer yet", join.Custody{Keeper: true}, "ok", "not known yet"},
		{"a host", join.Custody{Known: true, Due: true}, "ok", "on the hosts that keep the store"},
		{"a keeper", join.Custody{Known: true, Keeper: true, Holding: disk}, "ok", "on the hosts that keep the store"},
		{"a keeper that was away at the return", join.Custody{Known: true, Keeper: true}, "warn", "authority return"},
		{"withdrawn", join.Custody{Known: true, Withdrawn: at, Ends: at}, "ok", "since 2026-03-01"},
		{"withdrawn, from a keeper", join.Custody{Known: true, Keeper: true, Withdrawn: at}, "ok", "since 2026-03-01"},
		{"not deleted yet", join.Custody{Known: true, Keeper: true, Withdrawn: at, Holding: disk}, "warn", "still on this host's disk"},
		{"lent", join.Custody{Known: true, Keeper: true, Withdrawn: at, Holding: lent}, "ok", "until 12:00:00 UTC"},
		{"an end comes near", join.Custody{Known: true, Withdrawn: at, Due: true, Ends: at.AddDate(0, 3, 0)}, "warn", "ends on 2026-06-01, and nobody can renew it"},
	} {
		if p := authorityStatus(c.custody); p.Name != "authority" || p.State != c.state || !strings.Contains(p.Detail, c.word) {
			t.Errorf("%s: %+v", c.what, p)
		}
	}
}
