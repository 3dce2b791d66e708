package service

import "testing"

// portOf is the machine's only port.
func (w *world) portOf(t *testing.T, machine string) Port {
	t.Helper()
	all, _ := w.List(ctx)
	if len(all) != 1 || !all[0].concerns(machine) {
		t.Fatalf("the ports are %v", all)
	}
	return all[0]
}

// TestQueues: a NIC has as many pairs of queues as its machine has processors, and the configuration permits; a port keeps what it was made for.
func TestQueues(t *testing.T) {
	w := newWorld()
	w.cpus["a"], w.cpus["b"] = 4, 12
	c, one, most, many := w.config(), 1, 3, 8
	few, full, all, other := c.Machines["a"], c.Machines["a"], c.Machines["a"], c.Machines["b"]
	few.Pairs, full.Pairs, all.Pairs, other.Pairs = &one, &most, &many, &many
	for _, x := range []struct {
		machine string
		as      Guest
		want    int
		several bool
	}{{"a", c.Machines["a"], 1, false}, {"a", all, 4, true}, {"a", full, 3, true}, {"a", few, 1, false}, {"b", other, 8, true}, {"one", other, 1, false}} {
		c.Machines[x.machine] = x.as
		s := w.serviceOf(c)
		card, err := s.Plug(ctx, x.machine, order("x"))
		must(t, err)
		p := w.portOf(t, x.machine)
		if w.queues[p.TAP] != x.want || p.MultiQueue != x.several {
			t.Errorf("%s: %d pairs of queues, several: %v; want %d, %v", x.machine, w.queues[p.TAP], p.MultiQueue, x.want, x.several)
		}
		must(t, s.Unplug(ctx, x.machine, card.Token))
	}
	plain := c.Machines["b"]
	plain.Pairs = nil
	for _, x := range []struct {
		from, to Guest
		want     int
	}{{few, other, 1}, {all, other, 8}, {all, plain, 1}} { // moved
		c.Machines["a"], c.Machines["b"] = x.from, x.to
		s := w.serviceOf(c)
		_, err := s.Plug(ctx, "a", order("x"))
		must(t, err)
		must(t, s.Permit(ctx, "a", "x", "b", "y"))
		_, err = s.Plug(ctx, "b", over())
		must(t, err)
		if p := w.portOf(t, "a"); w.queues[p.TAP] != x.want {
			t.Errorf("from a machine of %d pairs to one of %d: %d, want %d", x.from.Queues(), x.to.Queues(), w.queues[p.TAP], x.want)
		}
		must(t, s.Confirm(ctx, "b", "y"))
		must(t, s.Unplug(ctx, "b", "y"))
	}
}
