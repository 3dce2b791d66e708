package service

import (
	"errors"
	"testing"

	"github.com/heddle-network/heddle"
)

// rates are limits of both directions, with bursts that suit them.
func rates(in, out heddle.Rate) (l heddle.RateLimits) {
	l, _ = fit(heddle.RateLimits{In: heddle.RateLimit{Rate: in}, Out: heddle.RateLimit{Rate: out}}, 1500)
	return l
}

// capped is a service whose machine a may have so much on each NIC, and b has no such limit.
func capped(w *world, rate, in, out string) *Service {
	c := w.config()
	g := c.Machines["a"]
	g.Rate, g.RateIn, g.RateOut = rate, in, out
	c.Machines["a"] = g
	return w.serviceOf(c)
}

// limitsAre compares what a machine is told of its one NIC.
func limitsAre(t *testing.T, s *Service, machine string, asked, want heddle.RateLimits) {
	t.Helper()
	all, err := s.List(ctx, machine)
	if err != nil || len(all) != 1 || all[0].Asked != asked || all[0].Limits != want {
		t.Errorf("%+v, %v; want asked %s, limits %s", all, err, asked, want)
	}
}

// TestLimitAsked: a NIC is limited as its machine asks, and no more once it asks for none. Asked again, nothing is done.
func TestLimitAsked(t *testing.T) {
	w := newWorld()
	s := w.service()
	_, err := s.Plug(ctx, "a", order("x"))
	must(t, err)
	w.took()
	asked := heddle.RateLimits{In: heddle.RateLimit{Rate: 10e6}, Out: heddle.RateLimit{Rate: 1e6, Burst: 5e3}}
	want, _ := fit(asked, 1500)
	for range 2 {
		card, err := s.Limit(ctx, "a", "x", asked)
		if err != nil || card.Token != "x" || card.Asked != asked || card.Limits != want {
			t.Errorf("%+v, %v", card, err)
		}
	}
	if got := w.took(); got != "limit a/x to "+want.String() {
		t.Error(got)
	}
	again, err := s.Plug(ctx, "a", order("x"))
	if err != nil || again.Limits != want || w.took() != "" {
		t.Errorf("%+v, %v", again, err)
	}
	must(t, w.service().reconcileAll(ctx)) // of the next life
	if got := w.took(); got != "" {
		t.Error(got)
	}
	_, err = s.Limit(ctx, "a", "x", heddle.RateLimits{})
	must(t, err)
	limitsAre(t, s, "a", heddle.RateLimits{}, heddle.RateLimits{})
	must(t, s.Unplug(ctx, "a", "x"))
	_, err = s.Plug(ctx, "a", order("x"))
	must(t, err)
	limitsAre(t, s, "a", heddle.RateLimits{}, heddle.RateLimits{})
}

// TestLimitRefused: what cannot be a limit, and NICs of others, are refused. Nothing changes.
func TestLimitRefused(t *testing.T) {
	w := newWorld()
	s := w.service()
	_, err := s.Plug(ctx, "a", order("x"))
	must(t, err)
	fine := heddle.RateLimits{In: heddle.RateLimit{Rate: 1e6}}
	_, err = s.Limit(ctx, "a", "x", fine)
	must(t, err)
	w.took()
	for _, l := range []heddle.RateLimit{{Rate: 1}, {Rate: 2e12}, {Rate: 1 << 63}, {Burst: 1e4}, {Rate: 1e6, Burst: 1}, {Rate: 1e6, Burst: 1e9}, {Rate: 1e6, Burst: 1 << 63}} {
		_, err := s.Limit(ctx, "a", "x", heddle.RateLimits{Out: l})
		refused(t, l.Rate.String(), err, heddle.BadOption)
	}
	for what, c := range map[string][2]string{"no such NIC": {"a", "y"}, "another machine's": {"b", "x"}} {
		_, err := s.Limit(ctx, c[0], c[1], heddle.RateLimits{})
		refused(t, what, err, heddle.NICNotGranted)
	}
	_, err = s.Limit(ctx, "a", "../x", fine)
	refused(t, "no token", err, heddle.BadID)
	_, err = s.Limit(ctx, "c", "x", fine)
	refused(t, "no machine", err, heddle.BadArgument)
	if got := w.took(); got != "" {
		t.Error(got)
	}
	w.fail("limit a/x to ", errors.New("broken"))
	_, err = s.Limit(ctx, "a", "x", heddle.RateLimits{})
	refused(t, "the agent cannot", err, heddle.NotPlugged)
	limitsAre(t, s, "a", fine, rates(1e6, 0))
}

// TestCap: a NIC is limited before its machine has it, and the machine can have less of that, and never more: neither does it ask for more or none,
// nor for a larger burst, nor does it plug the NIC in again.
func TestCap(t *testing.T) {
	w := newWorld()
	s := capped(w, "100mbit", "", "10mbit")
	most := rates(100e6, 10e6)
	card, err := s.Plug(ctx, "a", order("x"))
	if got := w.took(); err != nil || card.Limits != most || got != "make a/x, limit a/x to "+most.String()+", open tap1, plug tap1" {
		t.Error(got, card, err)
	}
	for _, c := range []struct{ asked, want heddle.RateLimits }{
		{heddle.RateLimits{In: heddle.RateLimit{Rate: 1e9}, Out: heddle.RateLimit{Rate: 1e9}}, most},
		{heddle.RateLimits{In: heddle.RateLimit{Rate: 100e6, Burst: 1 << 30}, Out: heddle.RateLimit{Rate: 10e6, Burst: 100e6}}, most},
		{heddle.RateLimits{In: heddle.RateLimit{Rate: 1e6, Burst: 30e6}}, heddle.RateLimits{In: heddle.RateLimit{Rate: 1e6, Burst: most.In.Burst}, Out: most.Out}},
		{rates(0, 1e6), heddle.RateLimits{In: most.In, Out: rates(0, 1e6).Out}},
		{heddle.RateLimits{}, most},
	} {
		card, err := s.Limit(ctx, "a", "x", c.asked)
		if err != nil || card.Asked != c.asked || card.Limits != c.want {
			t.Errorf("asked %s: %+v, %v, want %s", c.asked, card, err, c.want)
		}
	}
	must(t, s.Unplug(ctx, "a", "x"))
	_, err = s.Plug(ctx, "a", order("x"))
	must(t, err)
	limitsAre(t, s, "a", heddle.RateLimits{}, most)
	// without it no NIC comes
	must(t, s.Unplug(ctx, "a", "x"))
	w.fail("limit a/x to "+most.String(), errors.New("broken"))
	_, err = s.Plug(ctx, "a", order("x"))
	refused(t, "it cannot be limited", err, heddle.NotPlugged)
	if got := w.state(); got != "" {
		t.Error(got)
	}
}

// TestCapChanged: a service that starts sets the limits of all ports as its configuration says. Later it ends what is more than that, and leaves
// what is less.
func TestCapChanged(t *testing.T) {
	w := newWorld()
	_, err := w.service().Plug(ctx, "a", order("x"))
	must(t, err)
	s := capped(w, "100mbit", "", "")
	w.fail("plugged", errors.New("it does not run"))
	if s.reconcileAll(ctx) == nil {
		t.Error("no error of a machine that does not run")
	}
	w.fail("plugged", nil)
	most := rates(100e6, 100e6)
	limitsAre(t, s, "a", heddle.RateLimits{}, most)
	for _, c := range []struct{ has, want heddle.RateLimits }{{heddle.RateLimits{}, most}, {rates(1e9, 1e6), most}, {rates(1e6, 1e6), rates(1e6, 1e6)}} {
		p := w.ports["tap1"]
		p.Card.Limits = c.has
		w.ports["tap1"] = p
		must(t, s.reconcileAll(ctx))
		limitsAre(t, s, "a", heddle.RateLimits{}, c.want)
	}
	for _, c := range []struct {
		rate string
		want heddle.RateLimits
	}{{"200mbit", rates(200e6, 200e6)}, {"", heddle.RateLimits{}}} {
		s := capped(w, c.rate, "", "")
		must(t, s.reconcileAll(ctx))
		limitsAre(t, s, "a", heddle.RateLimits{}, c.want)
	}
}

// TestCapMoves: a NIC has the limits of the machine that has it, before that has it; asked for by whoever has it, and by nobody else.
func TestCapMoves(t *testing.T) {
	w := newWorld()
	s := capped(w, "10mbit", "", "")
	most := rates(10e6, 10e6)
	_, err := s.Plug(ctx, "a", order("x"))
	must(t, err)
	must(t, s.Permit(ctx, "a", "x", "b", "y"))
	_, err = s.Limit(ctx, "b", "y", heddle.RateLimits{})
	refused(t, "not taken yet", err, heddle.NICNotGranted)
	w.took()
	card, err := s.Plug(ctx, "b", over())
	if got := w.took(); err != nil || !card.Limits.IsZero() || got != "keep a/x>b/y!, unplug tap1, limit a/x>b/y! to , open tap1, plug tap1" {
		t.Error(got, card, err)
	}
	_, err = s.Limit(ctx, "a", "x", heddle.RateLimits{})
	refused(t, "the other machine has it", err, heddle.NICNotGranted)
	card, err = s.Limit(ctx, "b", "y", rates(1e9, 0))
	if err != nil || card.Token != "y" || card.Limits != rates(1e9, 0) {
		t.Errorf("%+v, %v", card, err)
	}
	must(t, s.Unplug(ctx, "b", "y")) // it goes back
	_, err = s.Plug(ctx, "a", order("x"))
	must(t, err)
	limitsAre(t, s, "a", rates(1e9, 0), most)
	must(t, s.reconcileAll(ctx))
	limitsAre(t, s, "a", rates(1e9, 0), most)
}
