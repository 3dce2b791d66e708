package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/test/soak"
)

// distant are people of whom some are far away, and some are near.
const distant = `
crowd: distant
users: 12
seed: 3
clock: {start: "Mon 09:00", length: 3s}
services: {chat: {sites: 1}, voice: {between: 12}}
personas:
  far: {share: 50%, link: {delay: 50ms, jitter: 5ms, loss: 2%, rate: 10mbit}, does: {read: 20/m, talk: 40/m}}
  near: {share: 50%, does: {write: 30/m, talk: 10/m}}
behaviours:
  read:
    start: page
    states:
      page: {do: web.page, sends: 300B, receives: 10KB, more: {count: 5, receives: 2KB}, expect: 5ms, next: {end: 1}}
  talk:
    start: call
    states:
      call: {do: voice.call, sends: 160B, receives: 160B, every: 20ms, lasts: 1s, next: {end: 1}}
  write:
    start: connect
    states:
      connect: {do: chat.connect, sends: 100B, receives: 100B, keep: true, expect: 5ms, next: {end: 1}}
`

// TestCrowdLinks: who has a link sees its delay and loss, in each mode, and nobody else does.
func TestCrowdLinks(t *testing.T) {
	soak.Turn(t, 1)
	if !alone(t) {
		return
	}
	out := filepath.Join(t.TempDir(), "report.json")
	modes := []string{"bridge", "routed", "macvlan", "overlay"}
	run := runCrowd(t, scenarioFile(t, distant), "--modes", strings.Join(modes, ","), "--out", out)
	run.ends(t)
	r, err := report.Read(out)
	if err != nil || len(r.Rounds) != len(modes) || len(r.Links) != 1 || r.Links["far"].Delay != 50*time.Millisecond {
		t.Fatalf("%v: %+v\n%s", err, r, run.stderr.String())
	}
	for _, one := range r.Rounds {
		// A page is asked for after a handshake: two round trips, of 90 ms at least.
		far, near := one.Actions["web.page"].Service, one.Actions["chat.connect"].Service
		if far.Count == 0 || far.P50 < 180*time.Millisecond || near.Count == 0 || near.P50 >= far.P50 {
			t.Errorf("%s: far away people waited %+v, near ones %+v", one.Mode, far, near)
		}
		if l := one.OnLinks; l == nil || l.Lost == 0 || l.Overflown > 0 || l.Refused > 0 {
			t.Errorf("%s: on links: %+v", one.Mode, l)
		}
		if c := one.Calls; c.Count == 0 || c.Lost == 0 || c.MOSP10 > 4.3 {
			t.Errorf("%s: calls: %+v", one.Mode, c)
		}
	}
	nothingLeft(t)
}
