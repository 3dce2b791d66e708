package agent

import (
	"errors"
	"testing"

	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/policy"
)

// TestMissed: of packets that came too fast their number is told, before the one that says so, and to every filter.
func TestMissed(t *testing.T) {
	r := &refused{log: events.NewLog(), again: make(chan struct{}, 1)}
	r.set(policy.Policies{}, []policy.Member{{Port: "hp1", Network: "net"}})
	w, err := r.log.Watch("")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []kernel.LoggedPacket{{From: "hp1"}, {From: "hp1", Lost: 12}, {From: "gone", Lost: 3}} {
		p.Prefix = firewall.RefusedOut
		r.tell(p)
	}
	r.ended(errors.New("why"))
	filter, err := events.ParseFlowFilter([]string{"network=other", "protocol=tcp", "label=a=b"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := w.Read()
	if err != nil || len(all) != 5 {
		t.Fatal(all, err)
	}
	for i, want := range []uint32{0, 12, 0, 3, 0} {
		missed := want > 0 || i == 4
		if all[i].Missed != want || (all[i].Action == events.Missed) != missed || all[i].Matches(filter) != missed || all[i].Kind != events.Flow {
			t.Errorf("event %d: %+v", i, all[i])
		}
	}
}
