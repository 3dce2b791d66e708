package classifier

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/test/soak"
)

// TestSame: crowds of one scenario are told apart by chance alone. Their p-values are as likely to be below any number as
// that number says, and not too often below 0.05; users with habits of their own, and personas, do not change that.
func TestSame(t *testing.T) { same(t, 6) }

// TestSoakSame: so it is with more crowds, which would show less.
func TestSoakSame(t *testing.T) {
	soak.Need(t, "it is TestSame with 60 times two crowds")
	same(t, 60)
}

func same(t *testing.T, seeds uint64) {
	t.Helper()
	s := parsed(t, busy)
	var all []float64
	for seed := range seeds {
		first, second := drawn(t, s, 2*seed), drawn(t, s, 2*seed+1)
		for _, name := range s.Done() {
			all = append(all, tried(t, of(name, first), of(name, second), seed).P)
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
	var pairs [][2][]Session
	for seed := range uint64(3) {
		pairs = append(pairs, [2][]Session{drawn(t, s, 2*seed), drawn(t, s, 2*seed+1)})
	}
	for _, x := range []struct{ wrong, behaviour, sign string }{
		{"constant pauses", "chat", "pause"}, {"constant pauses", "read", "pause"}, {"constant pauses", "mail", "pause"},
		{"exponential pauses", "chat", "pause"}, {"exponential pauses", "mail", "pause"}, {"exponential pauses", "search", "pause"},
		{"regular sessions", "refresh", "since the session before"},
		{"100ms late", "mail", "pause mail.login → mail.check"},
	} {
		i := slices.IndexFunc(wrongs, func(w wrong) bool { return w.name == x.wrong })
		for seed, pair := range pairs {
			bad, good := copied(of(x.behaviour, pair[0])), of(x.behaviour, pair[1])
			wrongs[i].make(bad, draw.NewStream(uint64(seed), "wrong"))
			r := tried(t, bad, good, uint64(seed))
			all := signs(newTable(bad, good), len(bad))
			if r.P > 0.001 || accuracy(r.held) <= 0.5 || !strings.HasPrefix(all[0].Feature, x.sign) {
				t.Errorf("%s of %s: p %g, accuracy %g, by %+v", x.wrong, x.behaviour, r.P, accuracy(r.held), all)
			}
		}
	}
}

// TestOther: a scenario whose pauses follow another law of the same mean, or whose people differ more, or go other ways, is told apart.
func TestOther(t *testing.T) {
	many := strings.Replace(busy, "users: 120", "users: 600", 1)
	other := drawn(t, parsed(t, many), 2)
	for name, text := range map[string]string{
		"exponential": strings.Replace(many, "lognormal: {median: 8s, sigma: 1}", "exponential: 13.19s", 1),
		"habits":      strings.Replace(many, "per-user: 0.4", "per-user: 1.2", 1),
		"ways":        strings.Replace(many, "{open: 0.8, end: 0.2}", "{open: 0.5, end: 0.5}", 1),
	} {
		if r := tried(t, of("read", drawn(t, parsed(t, text), 1)), of("read", other), 1); text == many || r.P > 0.005 {
			t.Errorf("%s: p %g", name, r.P)
		}
	}
}

// TestJudge: a diary of what was planned is not told apart, one of a crowd that is late is, and the command's error says so.
func TestJudge(t *testing.T) {
	s := parsed(t, busy)
	file := acted(t, s, nil)
	good := judged(t, file, "mail")
	if err := good.Check(); err != nil {
		t.Errorf("%v: %+v", err, good)
	}
	for _, p := range good.Behaviours[0].Power {
		if want := p.Wrong != "regular sessions"; p.Of != powerCrowds || want && !p.Would() {
			t.Errorf("mail has the power %+v", p)
		}
	}
	slow := compared(t, acted(t, s, func(h *happened) {
		for i := range h.steps {
			h.steps[i].Begun += late * time.Duration(i+1)
			h.steps[i].Ended += late * time.Duration(i+1)
		}
	}), "mail", "chat")
	b := slow.Behaviours[0]
	if b.Answer != Yes || b.P > 0.001 || b.Adjusted != min(1, 2*b.P) || len(b.Signs) != mostSigns || slow.Lag < late ||
		b.Low <= 0.5 || b.Low > b.Accuracy || b.High < b.Accuracy {
		t.Errorf("%+v", slow)
	}
	if err := slow.Check(); err == nil || !strings.Contains(err.Error(), "told apart from its scenario: mail (p 0.0002)") {
		t.Error(err)
	}
	again := compared(t, file, "mail", "chat")
	if b := again.Behaviours[0]; b.P != good.Behaviours[0].P || b.Low != good.Behaviours[0].Low || b.High != good.Behaviours[0].High || again.Behaviours[1].Answer != No {
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
	v := compared(t, file, "chat", "mail", "read")
	for _, b := range v.Behaviours {
		if b.Cut < b.Sessions/10 || b.Answer != No || b.P < bench.Alpha {
			t.Errorf("%+v", b)
		}
	}
	if r := tried(t, of("mail", read(t, file).Sessions), of("mail", drawn(t, s, 1)), 1); r.P > bench.Alpha {
		t.Errorf("without the cuts mail is not told apart: p %g", r.P)
	}
}
