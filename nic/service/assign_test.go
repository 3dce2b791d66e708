package service

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestAssign: a NIC has as many further addresses as the configuration allows, and asked again it gets no more. They stay when the NIC
// is asked for again, and no other machine changes them.
func TestAssign(t *testing.T) {
	w := newWorld()
	s := w.service()
	_, err := s.Plug(ctx, "a", order("x"))
	must(t, err)
	w.took()
	for range 2 {
		card, err := s.Assign(ctx, "a", "x", 2)
		if err != nil || len(card.Further) != 2 {
			t.Errorf("%+v, %v", card, err)
		}
	}
	if got := w.took(); got != "assign 2 to a/x" {
		t.Error(got)
	}
	again, err := s.Plug(ctx, "a", order("x"))
	if err != nil || len(again.Further) != 2 {
		t.Errorf("%+v, %v", again, err)
	}
	_, err = s.Assign(ctx, "a", "x", 3)
	refused(t, "more than allowed", err, heddle.TooMuch)
	_, err = s.Assign(ctx, "a", "y", 1)
	refused(t, "no such NIC", err, heddle.NICNotGranted)
	_, err = s.Assign(ctx, "b", "x", 1)
	refused(t, "another machine, which may have none", err, heddle.TooMuch)
	first := netip.MustParseAddr("192.0.2.100")
	refused(t, "another machine", s.Unassign(ctx, "b", "x", first), heddle.NICNotGranted)
	refused(t, "to a machine whose NICs may have none", s.Permit(ctx, "a", "x", "b", "y"), heddle.NICNotGranted)
	_, err = s.Plug(ctx, "a", order("z"))
	must(t, err)
	must(t, s.Permit(ctx, "a", "z", "b", "y"))
	_, err = s.Assign(ctx, "a", "z", 1)
	refused(t, "it may move", err, heddle.NICNotGranted)
	must(t, s.Permit(ctx, "a", "z", "", ""))
	must(t, s.Unplug(ctx, "a", "z"))
	w.took()
	must(t, s.Unassign(ctx, "a", "x", first))
	must(t, s.Unassign(ctx, "a", "x", first))
	all, err := s.List(ctx, "a")
	if err != nil || len(all) != 1 || len(all[0].Further) != 1 || all[0].Further[0][0].Addr() == first {
		t.Errorf("%+v, %v", all, err)
	}
	offer, err := s.Describe(ctx, "a")
	if err != nil || offer.Addresses != 2 {
		t.Errorf("%+v, %v", offer, err)
	}
}
