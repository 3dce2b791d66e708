package classifier

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// TestSame: crowds of one scenario are told apart by chance alone. Their p-values are as likely to be below any number as
// that number says, and not too often below 0.05; users with habits of their own, and personas, do not change that.
func TestSame(t *testing.T) {
	s := parsed(t, busy)
	var all []float64
	for seed := range uint64(30) {
		for _, name := range s.Done() {
			all = append(all, tried(t, drawn(t, s, 2*seed, name), drawn(t, s, 2*seed+1, name), seed).P)
		}
	}
	slices.Sort(all)
	n, below, distance := float64(len(all)), 0, 0.0
	for i, p := range all {
		distance = max(distance, math.Abs(float64(i+1)/n-p), math.Abs(float64(i)/n-p))
		below += truth(p < bench.Alpha)
	}
	if limit := 1.63 / math.Sqrt(n); distance > limit { // Kolmogorov's test, at the level 0.01
		t.Errorf("the p-values are %.3f from uniform, and %.3f is allowed: %v", distance, limit, all)
	}
	if most := bench.Alpha*n + 2.33*math.Sqrt(n*bench.Alpha*(1-bench.Alpha)); float64(below) > most {
		t.Errorf("%d of %.0f p-values are below %g, and %.1f may be: %v", below, n, bench.Alpha, most, all)
	}
}

// TestWrong: each kind of wrong crowd is told apart, and the sign says by what.
func TestWrong(t *testing.T) {
	s := parsed(t, busy)
	for _, x := range []struct{ wrong, behaviour, sign string }{
		{"constant pauses", "chat", "pause"}, {"constant pauses", "read", "pause"}, {"constant pauses", "mail", "pause"},
		{"exponential pauses", "chat", "pause"}, {"exponential pauses", "mail", "pause"}, {"exponential pauses", "search", "pause"},
		{"regular sessions", "refresh", "since the session before"},
		{"100ms late", "mail", "pause mail.login → mail.check"},
	} {
		i := slices.IndexFunc(wrongs, func(w wrong) bool { return w.name == x.wrong })
		for seed := range uint64(3) {
			bad, good := drawn(t, s, 2*seed, x.behaviour), drawn(t, s, 2*seed+1, x.behaviour)
			wrongs[i].make(bad, draw.NewStream(seed, "wrong"))
			r := tried(t, bad, good, seed)
			all := signs(newTable(bad, good), len(bad))
			if r.P > 0.001 || r.Low <= 0.5 || r.Low > r.Accuracy || r.High < r.Accuracy || !strings.HasPrefix(all[0].Feature, x.sign) {
				t.Errorf("%s of %s: %+v, by %+v", x.wrong, x.behaviour, r, all)
			}
		}
	}
}

// TestOther: a scenario whose pauses follow another law of the same mean, or whose people differ more, or go other ways, is told apart.
func TestOther(t *testing.T) {
	many := strings.Replace(busy, "users: 120", "users: 600", 1)
	s := parsed(t, many)
	for name, text := range map[string]string{
		"exponential": strings.Replace(many, "lognormal: {median: 8s, sigma: 1}", "exponential: 13.19s", 1),
		"habits":      strings.Replace(many, "per-user: 0.4", "per-user: 1.2", 1),
		"ways":        strings.Replace(many, "{open: 0.8, end: 0.2}", "{open: 0.5, end: 0.5}", 1),
	} {
		if r := tried(t, drawn(t, parsed(t, text), 1, "read"), drawn(t, s, 2, "read"), 1); text == many || r.P > 0.005 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestJudge: a diary of what was planned is not told apart, one of a crowd that is late is, and the command's error says so.
func TestJudge(t *testing.T) {
	s := parsed(t, busy)
	good := judged(t, acted(t, s, nil), "mail", "chat")
	if err := good.Check(); err != nil {
		t.Errorf("%v: %+v", err, good)
	}
	for _, p := range good.Behaviours[0].Power {
		if want := p.Wrong != "regular sessions"; p.Of != powerCrowds || want && !p.Would() {
			t.Errorf("mail has the power %+v", p)
		}
	}
	slow := judged(t, acted(t, s, func(h *happened) {
		for i := range h.steps {
			h.steps[i].Begun += late * time.Duration(i+1)
			h.steps[i].Ended += late * time.Duration(i+1)
		}
	}), "mail", "chat")
	b := slow.Behaviours[0]
	if b.Answer != Yes || b.P > 0.001 || b.Adjusted != min(1, 2*b.P) || len(b.Signs) != mostSigns || slow.Lag < late {
		t.Errorf("%+v", slow)
	}
	if err := slow.Check(); err == nil || !strings.Contains(err.Error(), "told apart from its scenario: mail (p 0.0002)") {
		t.Error(err)
	}
	if again := judged(t, acted(t, s, nil), "mail", "chat"); again.Behaviours[1].P != good.Behaviours[1].P {
		t.Errorf("%+v, then %+v", good, again)
	}
}

// TestCut: a network on which some steps fail, and at one time all of a kind, is no difference of the crowd's.
func TestCut(t *testing.T) {
	s := parsed(t, busy)
	chance := draw.NewStream(1, "failures")
	file := acted(t, s, func(h *happened) {
		for i := range h.steps {
			down := h.steps[i].Do == "mail.fetch" && h.steps[i].Begun > time.Minute && h.steps[i].Begun < 3*time.Minute
			if down || chance.Chance(0.05) {
				h.steps[i].Outcome = "failed"
				h.steps, h.flows = h.steps[:i+1], h.flows[:i+1]
				return
			}
		}
	})
	v := judged(t, file, "chat", "mail", "read")
	for _, b := range v.Behaviours {
		if b.Cut < b.Sessions/10 || b.Answer != No || b.P < bench.Alpha {
			t.Errorf("%+v", b)
		}
	}
	p, err := Read(t.Context(), file, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if r := tried(t, of("mail", p.Sessions), drawn(t, s, 1, "mail"), 1); r.P > bench.Alpha {
		t.Errorf("without the cuts mail is not told apart: %+v", r)
	}
}

// TestMeasure: what a step takes by itself is measured so that the network's time drops out.
func TestMeasure(t *testing.T) {
	steps := []plan.Step{
		{Do: "mail.login", Connections: 1, Keep: true, Expect: time.Second},
		{Do: "mail.check", Expect: time.Second},
		{Pause: 2 * time.Second, Do: "web.page", Mistake: scenario.MistakeName, Expect: time.Second},
		{Pause: time.Second, Do: "web.page", Connections: 2, Lasts: 10 * time.Second},
		{Pause: 3 * time.Second, Do: "video.play", Every: time.Second, Lasts: time.Minute, Connections: 1},
		{Pause: time.Second, Do: "voice.call", Every: 20 * time.Millisecond, Lasts: time.Hour},
		{Pause: time.Second, Do: "mail.check"},
	}
	h := network{}.lay(plan.Session{User: 1, Start: time.Second, Steps: steps}, 2*time.Minute)
	got := h.measure()
	want := []Step{
		{Do: "mail.login", Flows: 1},
		{Do: "mail.check"}, // by the connection that is kept
		{Do: "web.page (name)", Mistake: "name", Pause: 2 * time.Second},
		{Do: "web.page", Pause: time.Second, Flows: 2},
		{Do: "video.play", Pause: 13 * time.Second, Lasted: time.Minute, Flows: 1}, // the page takes 10 s by itself
		{Do: "voice.call", Pause: time.Second, Lasted: 2*time.Minute - 81*time.Second, Flows: 1},
		{Do: "mail.check", Pause: time.Second, Flows: 0},
	}
	if got.Begun != time.Second || got.Cut || !slices.Equal(got.Steps, want) {
		t.Errorf("%+v", got)
	}
	for i := range h.steps { // all answers take a second more, and the crowd is 9 ms late
		h.steps[i].Begun += time.Duration(i) * time.Second
		h.steps[i].Ended += time.Duration(i+1) * time.Second
		if h.Steps[i].Lasts > 0 {
			h.steps[i].Ended -= time.Second
			for j := i + 1; j < len(h.steps); j++ {
				h.steps[j].Begun -= time.Second
				h.steps[j].Ended -= time.Second
			}
		}
		for j := i; j < len(h.steps); j++ {
			h.steps[j].Begun += 9 * time.Millisecond
			h.steps[j].Ended += 9 * time.Millisecond
		}
	}
	if got := h.measure(); !slices.Equal(got.Steps, want) {
		t.Errorf("%+v", got)
	}
	late := network{}.lay(plan.Session{Start: 3 * time.Minute, Steps: steps[4:6]}, 2*time.Minute).measure()
	if !late.Cut || len(late.Steps) != 1 || late.Steps[0].Lasted != 0 {
		t.Errorf("%+v", late)
	}
}
