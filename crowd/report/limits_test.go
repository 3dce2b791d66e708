package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/tally"
)

// played is a report of that many rounds on each mode, in which people wait that long for a page.
func played(rounds int, waits map[string]time.Duration) Report {
	r := Report{Seed: 1, SHA256: "same", Modes: []string{"bridge", "routed", "macvlan"}}
	for number := 1; number <= rounds; number++ {
		for _, mode := range r.Modes {
			wait, is := waits[mode]
			if !is {
				continue
			}
			wait += time.Duration(number) * wait / 100
			one := Round{Number: number, Round: round.Round{Mode: mode, Attached: time.Second}}
			one.Behaviours = map[string]tally.Sessions{"browse": {Intended: 90, Achieved: 90, Started: 90}, "rare": {Intended: 10, Achieved: 9, Failed: 1, Started: 10}}
			one.Actions = map[string]tally.Steps{"web.page": {Count: 90, Apdex: 0.9, Planned: tally.Durations{Count: 90, P50: wait, P99: 3 * wait}},
				"dns.query": {Count: 90, Apdex: -1, Planned: tally.Durations{Count: 90, P50: time.Millisecond}}}
			if mode != "macvlan" {
				one.Calls = tally.Calls{Count: 5, MOSP10: 4}
			}
			r.Rounds = append(r.Rounds, one)
		}
	}
	return r
}

func say(f Figure, v float64) string { return fmt.Sprint(f.Unit, v) }

// TestCheck: conditions are about medians, of the figures and modes that their labels choose.
func TestCheck(t *testing.T) {
	r := played(3, map[string]time.Duration{"bridge": 10 * time.Millisecond, "routed": 20 * time.Millisecond})
	for text, want := range map[string]string{
		"achieved < 99%": "", "achieved < 99.5%": "achieved < 99.5%: bridge sessions achieved, all has 0.99; achieved < 99.5%: routed",
		"achieved < 98.9%":                                        "",
		"achieved{behaviour=browse} < 1":                          "",
		"achieved{behaviour=rare,mode=routed}<95%":                "routed sessions achieved, rare has 0.9",
		"p50 > 15ms":                                              "p50 > 15ms: routed web.page p50 has ns2.04e+07",
		"p50{action=web.page} > 30ms":                             "",
		"p50{action=web.page,mode=bridge} < 10.3ms and apdex<0.5": "bridge web.page p50",
		"ratio-bridge{mode=routed,action=web.page} > 1.9":         "routed web.page p50 has 2",
		"ratio-bridge{figure=p99,action=web.page} > 2.1":          "",
		"low-ratio-routed{mode=bridge,action=web.page} < 60%":     "bridge web.page p50 has 0.5",
		"mos-p10 < 4.1":                                           "bridge calls, MOS p10 has score4",
		"mos-p10 < 3.9":                                           "",
		"failed > 0":                                              "failed > 0: bridge failed has 1",
		"attached > 2s":                                           "",
	} {
		limits, err := ParseLimits(text, r.Known())
		if err != nil {
			t.Fatal(err)
		}
		err = r.Check(limits, say)
		if want == "" && err != nil || want != "" && (!errors.Is(err, heddle.Threshold.Sentinel()) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"p77 > 1ms":                     "unknown metric",
		"p50 > 1%":                      "p50 is not in %",
		"p50{persona=manager} > 1ms":    "there are mode, behaviour, action, figure",
		"ratio-overlay > 1":             "unknown metric",
		"memory > 1MB":                  "no round",
		"p50{action=mail.send} > 1ms":   "no action \"mail.send\"; there are dns.query, web.page",
		"p50{mode=brigde} > 1ms":        "no mode \"brigde\"",
		"achieved{behaviour=x} < 1":     "there are browse, rare",
		"p50 > 1":                       "no unit, such as ms",
		"achieved < 99":                 "write 99% or 0.99",
		"p50{figure=p99} > 1ms":         "that of ratios",
		"p50{mode=macvlan} > 1ms":       "no round",
		"ratio-bridge{mode=bridge} > 1": "no round",
		"p50{behaviour=browse} > 1ms":   "no round",
	} {
		limits, err := ParseLimits(text, r.Known())
		if err == nil {
			err = r.Check(limits, say)
		}
		if !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	r.Rounds[0].Behaviours, r.Rounds[1].Behaviours = map[string]tally.Sessions{"rare": {Intended: 1, Achieved: 1}}, map[string]tally.Sessions{"rare": {Intended: 1, Failed: 1}}
	once := Report{Seed: 1, Modes: r.Modes, Rounds: r.Rounds[:2]}
	for text, crossed := range map[string]bool{"ratio-bridge{mode=routed,figure=failed} > 1.5": true, "ratio-bridge{mode=routed,figure=gave-up} > 1.5": false} {
		limits, err := ParseLimits(text, once.Known())
		if err == nil {
			err = once.Check(limits, say)
		}
		if crossed != errors.Is(err, heddle.Threshold.Sentinel()) || !crossed && err != nil {
			t.Errorf("a ratio to nothing: %s: %v", text, err)
		}
	}
	lacks := played(1, map[string]time.Duration{"bridge": time.Millisecond, "macvlan": time.Millisecond})
	limits, _ := ParseLimits("mos-p10 < 1", r.Known())
	if err := lacks.Check(limits, say); err == nil || !strings.Contains(err.Error(), "macvlan calls, MOS p10 has no value") {
		t.Errorf("a mode without calls: %v", err)
	}
}

// TestCompare: what changed for the worse is told, and only that.
func TestCompare(t *testing.T) {
	a := played(10, map[string]time.Duration{"bridge": 10 * time.Millisecond, "routed": 20 * time.Millisecond})
	b := played(10, map[string]time.Duration{"bridge": 20 * time.Millisecond, "macvlan": time.Millisecond})
	b.Rounds[0].Failures = []tally.Failure{{Why: "refused", Count: 1}}
	c := Compare(a, b)
	if strings.Join(c.Warnings, "; ") != "only the first has mode routed; only the second has mode macvlan" {
		t.Errorf("%q", c.Warnings)
	}
	worse := map[string]bool{}
	for _, x := range c.Changes {
		if x.Mode != "bridge" || x.Better == bench.Informative {
			t.Errorf("%+v", x)
		}
		if x.Verdict == bench.Worse {
			worse[x.Of.Name()] = true
		} else if x.Verdict != bench.Unclear {
			t.Errorf("%s: %s", x.Of.Name(), x.Verdict)
		}
	}
	if len(worse) != 2 || !worse["web.page p50"] || !worse["web.page p99"] {
		t.Errorf("%v", worse)
	}
	for text, want := range map[string]string{
		"sure-regression > 80%":                               "bridge web.page p50 has 0.9",
		"regression{action=dns.query} > 1%":                   "",
		"ratio{figure=p99,action=web.page} > 1.5":             "bridge web.page p99 has 2",
		"regression{behaviour=rare,figure=achieved} > 1%":     "",
		"regression{behaviour=browse} > 1%":                   "",
		"regression{mode=routed} > 1%":                        "chooses nothing",
		"regression{figure=p99,behaviour=browse} > 1%":        "chooses nothing",
		"sure-regression{figure=attached} > 1%,regression>2%": "web.page p50",
	} {
		limits, err := ParseChangeLimits(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(limits); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	fails := played(10, map[string]time.Duration{"bridge": 10 * time.Millisecond})
	for i := range fails.Rounds {
		rare := fails.Rounds[i].Behaviours["rare"]
		rare.Achieved, rare.Failed = 9, 0
		fails.Rounds[i].Behaviours["rare"] = rare
	}
	for text, crossed := range map[string]bool{"ratio{figure=failed} > 1.2": true, "sure-regression{figure=failed} > 10%": true, "ratio{figure=gave-up} > 1.2": false,
		"ratio{figure=gave-up} < 0.5": false} {
		limits, err := ParseChangeLimits(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := Compare(fails, a).Check(limits); crossed != (err != nil) || err != nil && !strings.Contains(err.Error(), "was 0 (worse)") {
			t.Errorf("from nothing: %s: %v", text, err)
		}
	}
	once := Compare(played(1, map[string]time.Duration{"bridge": 1}), played(1, map[string]time.Duration{"bridge": 2}))
	limits, _ := ParseChangeLimits("sure-regression > 1%")
	if err := once.Check(limits); err == nil || !strings.Contains(err.Error(), "never sure") || !strings.Contains(once.Summary(), "one round") {
		t.Errorf("one round: %v, %s", err, once.Summary())
	}
}

// TestComparable: reports of different plans are told apart.
func TestComparable(t *testing.T) {
	a, b := played(1, nil), played(1, nil)
	if err := Comparable(a, b); err != nil {
		t.Error(err)
	}
	b.SHA256, b.Seed = "other", 2
	b.Links = map[string]scenario.Link{"remote": {Rate: 1e6}}
	if err := Comparable(a, b); err == nil || !strings.Contains(err.Error(), "seed: 1, then 2; sha256: same, then other") {
		t.Errorf("%v", err)
	}
	b.SHA256, b.Seed = a.SHA256, a.Seed
	if err := Resumable(a, b); err == nil || !strings.Contains(err.Error(), "link of remote: none, then rate 1mbit") || Comparable(a, b) != nil {
		t.Errorf("%v", err)
	}
}
