package bench

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// scored is a mode with its score of three rounds, between low and high.
func scored(mode string, low, median, high float64) score {
	return score{mode, Ratio{3, median, low, high}}
}

// of is the same with another number of rounds.
func (s score) of(rounds int) score {
	s.N = rounds
	return s
}

func TestAnswer(t *testing.T) {
	host, bridge := scored("overlay", 0.8, 0.85, 0.9), scored("bridge", 1.1, 1.2, 1.3)
	far, slow := scored("overlay", 0.9, 1, 1.1), scored("bridge", 0.4, 0.5, 0.6)
	nic, lan := scored("direct", 1.4, 1.5, 1.6), scored("macvlan", 1.4, 1.5, 1.6)
	for name, x := range map[string]struct {
		across, same []score
		want         string
	}{
		"clear":            {[]score{slow, far, nic}, []score{host, bridge, nic}, "Here: overlay across hosts, bridge on one host, direct when a container may have a NIC of its own."},
		"the same winner":  {[]score{slow, far}, []score{far, slow}, "Here: overlay across hosts and on one host."},
		"level":            {[]score{far, scored("bridge", 0.5, 0.8, 0.95), scored("routed", 0.1, 0.2, 0.3)}, nil, "Here: overlay or bridge (no difference) across hosts."},
		"all level":        {[]score{far, scored("bridge", 0.5, 0.8, 0.95)}, nil, "Here: no difference between overlay and bridge across hosts."},
		"touching":         {[]score{far, scored("bridge", 0.5, 0.8, 0.9)}, nil, "Here: no difference between overlay and bridge across hosts."},
		"no better NIC":    {[]score{far, slow, scored("direct", 1.05, 1.2, 1.3)}, nil, "Here: overlay across hosts."},
		"only there":       {[]score{far, slow, nic}, []score{bridge, scored("direct", 1, 1.1, 1.2)}, "Here: overlay across hosts, bridge on one host, direct across hosts when a container may have a NIC of its own."},
		"two needs":        {[]score{far, lan, scored("direct", 1.7, 1.8, 1.9)}, nil, "Here: overlay across hosts, macvlan when containers may have addresses of the LAN, direct when a container may have a NIC of its own."},
		"needs level":      {[]score{far, lan, scored("ipvlan-l3", 1.3, 1.4, 1.5)}, nil, "Here: overlay across hosts, macvlan or ipvlan-l3 when containers may have addresses of the LAN."},
		"nothing plain":    {[]score{lan, nic}, nil, "Here: macvlan across hosts."},
		"without the fast": {[]score{far, scored("overlay-stack", 0.5, 0.6, 0.7)}, nil, "Here: overlay across hosts."},
		"one round":        {[]score{far.of(1), scored("bridge", 0.9, 0.9, 0.9).of(1)}, []score{bridge.of(1), host.of(1)}, "1 round: too few to be sure. Ahead: overlay across hosts, bridge on one host."},
		"two rounds":       {[]score{far, scored("bridge", 0.5, 0.8, 0.95).of(2)}, nil, "2 rounds: too few to be sure. Ahead: overlay across hosts."},
		"one mode":         {nil, []score{bridge}, "Only one mode was measured beside the host’s own network: there is nothing to choose."},
		"nothing":          {nil, nil, "Nothing to compare: this run has no second mode beside the host’s own network."},
	} {
		if got := answer([]string{Across, SameHost}, map[string][]score{Across: x.across, SameHost: x.same}); got != x.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, x.want)
		}
	}
}

// TestScores: a mode's score is the mean of its probes' means, within a round, turned so that more
// is better; what some mode has not measured counts for none.
func TestScores(t *testing.T) {
	made := stress{modes: []string{"host", "bridge", "routed", Native}, wires: []string{""}, sizes: []int{64, 1024}, pairs: []int{1}, rounds: 3, probes: []Probe{Throughput{}, PingPong{}}}
	r := made.report()
	for i, s := range r.Samples {
		speed := map[string]float64{"host": 1, "bridge": 0.5, "routed": 2, Native: 9}[s.Mode] * float64(1+s.Round)
		switch {
		case s.Probe == "sockperf-throughput" && s.Size == 1024 && s.Mode == "routed":
			r.Samples[i].Figures, r.Samples[i].Error = nil, "failed"
		case s.Probe == "sockperf-throughput":
			r.Samples[i].Figures = map[string]float64{"received": 100 * speed}
		default:
			r.Samples[i].Figures = map[string]float64{"p50": 100 / speed}
			if s.Mode == "routed" {
				r.Samples[i].Figures["p50"] *= 4 // half the host's speed
			}
		}
	}
	scores := newView(made.assemble(made.matrix(), r.Environment, r.Samples)).scores(SameHost)
	if len(scores) != 2 || scores[0].Mode != "bridge" || scores[1].Mode != "routed" {
		t.Fatal(scores)
	}
	near(t, "bridge", scores[0].Median, 0.5)
	near(t, "routed", scores[1].Median, 1) // twice the packets, half the speed of an answer
	near(t, "certain", scores[1].High-scores[1].Low, 0)
}

// TestOneRoundClaimsNothing: a page of one round has no interval, no spread and no winner.
func TestOneRoundClaimsNothing(t *testing.T) {
	r := stress{modes: []string{"host", "bridge", "overlay"}, wires: []string{""}, sizes: []int{28}, pairs: []int{1}, rounds: 1, preset: "lxc2019"}.report()
	page := render(t, "one-round-preset", r.HTML)
	if !strings.Contains(page, "too few to be sure. Ahead: ") {
		t.Error("the sentence is too certain")
	}
	text, _, _ := strings.Cut(page, `<section id="data">`)
	_, text, _ = strings.Cut(text, "</style>")
	for _, bad := range []string{"95 %", "CV ", "interval ", "confidence", "level with", "clear of", "clearly", "rank test", "[1"} {
		if at := strings.Index(text, bad); at >= 0 {
			t.Errorf("%q: %s", bad, text[max(0, at-100):min(len(text), at+60)])
		}
	}
}

// TestPageOpens: first the answer and its picture; the machine comes at the end.
func TestPageOpens(t *testing.T) {
	page := allPages(t)["usual"]
	at := -1
	for _, part := range []string{`<p class="answer">Here: `, `<figure class="opening">`, `id="glance"`, `id="matrix"`, `id="method"`, "Congestion control", `id="data"`} {
		next := strings.Index(page, part)
		if next <= at {
			t.Errorf("%s is at %d, and what comes before it at %d", part, next, at)
		}
		at = next
	}
}

// TestBarsAreTheNumbers: a bar is as long as its number is large, also where less is better.
func TestBarsAreTheNumbers(t *testing.T) {
	v := newView(invented()["usual"])
	for _, c := range v.situations() {
		f := v.headline(c)
		most := 0.0
		for _, m := range v.modes {
			most = max(most, v.cells[withMode(c, m)].Figures[f.Name].Median)
		}
		for _, x := range v.matrixCells(c, f) {
			want := 100 * v.cells[withMode(c, x.Mode)].Figures[f.Name].Median / most
			if got, err := strconv.ParseFloat(x.Bar, 64); err != nil || math.Abs(got-want) > 0.06 {
				t.Errorf("%s %s: %s %%, want %.1f", c, x.Mode, x.Bar, want)
			}
		}
	}
}
