package bench

import (
	"errors"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

func TestParseLimits(t *testing.T) {
	got, err := ParseLimits(" ratio-host{mode=bridge, probe=iperf3} < 0.5 ,p99.9{size=64}>=1e3,cpu>90")
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, want := range []string{"ratio-host{mode=bridge,probe=iperf3} < 0.5", "p99.9{size=64} >= 1000", "cpu > 90"} {
		if got[i].String() != want {
			t.Errorf("got %s, want %s", got[i], want)
		}
	}
	for text, want := range map[string]string{
		"":                          "no comparison",
		"cpu":                       "no comparison",
		"cpu > ten":                 "not a number",
		"cpu > NaN":                 "not a number",
		"speed > 1":                 "unknown metric",
		"cpu{mode=a > 1":            "no closing brace",
		"cpu{mode={a} > 1":          "no closing brace",
		"cpu{mode} > 1":             "not label=value",
		"cpu{mode=} > 1":            "not label=value",
		"cpu{color=red} > 1":        "unknown label",
		"cpu{mode=a,mode=b} > 1":    "twice",
		"cpu > 1,":                  "no comparison",
		"cpu{mode=a}} > 1":          "no closing brace",
		"ratio-host{mode=a} == 0.5": "no comparison",
	} {
		_, err := ParseLimits(text)
		if !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseLimits(f *testing.F) {
	for _, s := range []string{"cpu > 1", "ratio-host{mode=bridge,probe=iperf3} < 0.5, p99>3", "{", "}", "a{b=c}<=1,", "received{}<1", "cpu<=-1e999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		limits, err := ParseLimits(s)
		if err != nil {
			if heddle.KindOf(err) != heddle.Usage {
				t.Errorf("%q: kind of %v", s, err)
			}
			return
		}
		for _, l := range limits {
			again, err := ParseLimits(l.String())
			if err != nil || len(again) != 1 || again[0].String() != l.String() {
				t.Errorf("%q became %q, which reads as %v, %v", s, l, again, err)
			}
		}
	})
}

func TestCheck(t *testing.T) {
	r := goldenReport()
	for expr, crossed := range map[string]bool{
		"ratio-host{mode=bridge,probe=iperf3} < 0.5":            false,
		"ratio-host{mode=bridge,probe=iperf3} < 0.9":            true,
		"ratio-host{mode=bridge,probe=iperf3,figure=p99} < 0.9": true, // chooses nothing
		"p50{mode=bridge,span=same-host}>1000":                  false,
		"p50{mode=bridge}>=10":                                  true,
		"ratio-host{probe=iperf3}<0.1,cpu{pairs=1}>1":           true,
		"received{mode=macvlan}<1":                              true, // failed: no figure
		"received{mode=nothing}<1":                              true, // chooses nothing
	} {
		limits, err := ParseLimits(expr)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Check(limits); (err != nil) != crossed {
			t.Errorf("%s: %v", expr, err)
		} else if err != nil {
			t.Log(err)
		}
	}
	limits, _ := ParseLimits("received{mode=macvlan}<1")
	if err := r.Check(limits); !errors.Is(err, heddle.Threshold.Sentinel()) {
		t.Error(err)
	}
}
