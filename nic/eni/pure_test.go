package eni

import "testing"

const me = "i-me"

// TestNext: each state has its step, for each goal.
func TestNext(t *testing.T) {
	for _, x := range []struct {
		state         State
		instance      string
		plugged, gone Step
	}{
		{Busy, "", pause, pause},
		{Free, "", Attach, Delete},
		{Attaching, me, pause, pause},
		{Attached, me, done, Detach},
		{Attached, "i-other", refuse, refuse},
		{Detaching, me, pause, pause},
		{Failed, "", refuse, Delete},
	} {
		n := NIC{State: x.state, Instance: x.instance}
		if next(n, me, gone) != refuse {
			t.Errorf("one without our tag, in state %d, is not left alone", x.state)
		}
		n.Tags = map[string]string{TagMachine: me}
		if a, b := next(n, me, plugged), next(n, me, gone); a != x.plugged || b != x.gone {
			t.Errorf("%d of %q: %d to plug, %d to unplug", x.state, x.instance, a, b)
		}
		n.Loose = true
		if a, b := next(n, me, plugged), next(n, me, gone); (a == Tie) != (x.plugged == done) || a != Tie && a != x.plugged || b != x.gone {
			t.Errorf("%d of %q, which is loose: %d to plug, %d to unplug", x.state, x.instance, a, b)
		}
	}
}

// TestRoom: NICs that others have attached take room, too, but for those that do not count.
func TestRoom(t *testing.T) {
	ours, foreign, apart := NIC{Tags: map[string]string{TagMachine: me}}, NIC{}, NIC{Apart: true}
	for _, x := range []struct {
		limit, most int
		attached    []NIC
		slots, free int
	}{
		{4, 0, []NIC{foreign}, 3, 3},
		{4, 2, []NIC{foreign}, 2, 2},
		{4, 9, []NIC{foreign, foreign}, 2, 2},
		{4, 0, []NIC{foreign, ours}, 3, 2},
		{1, 0, []NIC{foreign, ours}, 0, 0},
		{4, 0, []NIC{foreign, apart, apart, ours}, 3, 2},
	} {
		if slots, free := room(x.limit, x.most, me, x.attached); slots != x.slots || free != x.free {
			t.Errorf("%+v: %d of %d", x, free, slots)
		}
	}
}
