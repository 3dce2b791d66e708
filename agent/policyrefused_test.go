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
	r := newRefused(nil, nil, make(chan struct{}, 1))
	r.tell(kernel.LoggedPacket{To: "hp1", Prefix: firewall.RefusedIn}) // of an earlier agent's rules
	r.set(policy.Policies{}, []policy.Member{{Port: "hp1", Network: "net"}})
	w, err := r.log.Watch("")
	if err != nil {
		t.Fatal(err)
	}
	const out = firewall.RefusedOut
	for _, p := range []kernel.LoggedPacket{{Prefix: out, From: "hp1"}, {Prefix: "another's", From: "hp1", To: "hp1"}, {Prefix: out, From: "hp1", Lost: 12}, {Prefix: out, From: "gone", Lost: 3}} {
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
