package main

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
)

// TestFlowLines: a refused packet, and what is not shown, for people.
func TestFlowLines(t *testing.T) {
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	flow := &heddle.Flow{Direction: "ingress", Protocol: "tcp", Src: netip.MustParseAddr("fd20::2"), Dst: netip.MustParseAddr("fd20::3"), SrcPort: 4000, DstPort: 80, Bytes: 60, Why: "rule 2 of policy closed"}
	for _, c := range []struct {
		event events.Event
		line  string
	}{
		{events.Event{Action: events.Refused, Object: "db/eth0", Network: "front", Labels: map[string]string{"app": "db"}, Flow: flow}, "db/eth0 refused ingress tcp [fd20::2]:4000 to [fd20::3]:80, 60 bytes: rule 2 of policy closed; network front; labels app=db"},
		{events.Event{Action: events.Missed, Missed: 12, Detail: "why"}, "12 refused packets not shown: why"},
		{events.Event{Action: events.Missed, Detail: "seen again"}, "seen again"},
	} {
		var b bytes.Buffer
		c.event.Time = at
		if err := (&session{}).flowLine(&b, c.event); err != nil || b.String() != formatTime(at)+"  "+c.line+"\n" {
			t.Errorf("%q, %v", b.String(), err)
		}
	}
}
