package limit

import (
	"errors"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// figures is the grammar of some figures.
func figures() Grammar {
	g := Grammar{Units: map[string][]string{"cpu": {"%"}, "missed": {""}}, Labels: []string{"mode", "probe", "size", "wire"}, Whole: []string{"missed"}}
	g.Add("p99", "µs")
	g.Add("p99.9", "µs")
	g.Add("received", "packets/s")
	g.Add("received", "Gbit/s")
	g.Add("lost", "% of sent")
	g.Add("memory", "B")
	g.AddRatios("host", "docker-overlay")
	return g
}

func TestParse(t *testing.T) {
	got, err := Parse(" ratio-host{mode=bridge, probe=iperf3} < 0.5 ,p99.9{size=64}>=1e3,cpu>90 and p99>200us,received{wire=intact}<2 Gbit/s and\tratio-host<50%,low-ratio-docker-overlay{mode=overlay}<.97 and memory > 1MiB and missed>0", figures())
	want := []string{"ratio-host{mode=bridge,probe=iperf3} < 0.5", "p99.9{size=64} >= 1000", "cpu > 90", "p99 > 200us",
		"received{wire=intact} < 2Gbit/s", "ratio-host < 50%", "low-ratio-docker-overlay{mode=overlay} < 0.97", "memory > 1MiB", "missed > 0"}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v, %v", got, err)
	}
	for i, w := range want {
		if got[i].String() != w {
			t.Errorf("got %s, want %s", got[i], w)
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
		"p99 > 200 furlongs":        "unknown unit",
		"lost > 1 of 2":             "is not a number, or one with a unit",
		"p99 > 1e999":               "not a number that can be compared",
		"p99>200us and":             "is not a number, or one with a unit",
		"p99 > 200Gbit/s":           "p99 is not in Gbit/s; there are cpu (%), high-ratio-MODE, lost (%)",
		"memory > 3 s":              "memory (B), missed, p99 (µs)",
		"missed{mode=bridge} > 1":   "has no labels",
	} {
		_, err := Parse(text, figures())
		if !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestCrossed: what is compared is in one unit.
func TestCrossed(t *testing.T) {
	for text, want := range map[string]bool{
		"p99 > 200us": true, "p99 > 0.25ms": false, "p99 >= 250us": true, "p99 < 250us": false, "p99 <= 250": true, "p99 > 2e5ns": true,
	} {
		got, err := Parse(text, figures())
		if err != nil || got[0].Crossed(250, "µs") != want || got[0].Crossed(250, "%") && got[0].Unit != "" {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]bool{"p99 > 1s": false, "p99 >= 1s": true, "p99 <= 1000ms": true, "p99 < 1000001us": true, "p99 > 999999us": true} {
		got, err := Parse(text, figures())
		if err != nil || got[0].Crossed(1e9, "ns") != want {
			t.Errorf("1 s: %s: %v, %v", text, got, err)
		}
	}
	share, _ := Parse("ratio-host < 99%", figures())
	if l := share[0]; !l.Crossed(0.98, RatioUnit) || l.Crossed(0.99, RatioUnit) || !l.Fits(RatioUnit) || l.Fits("s") {
		t.Errorf("%v", l)
	}
	if over, end, ok := share[0].Ratio(); over != "host" || end != Median || !ok {
		t.Errorf("%s, %s, %v", over, end, ok)
	}
	if err := Failed(nil); err != nil {
		t.Errorf("%v", err)
	}
	if err := Failed(strings.Split("a b c d e f g h i j", " ")); !errors.Is(err, heddle.Threshold.Sentinel()) || !strings.Contains(err.Error(), "h; and 2 more") {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"cpu > 1", "ratio-host{mode=bridge,probe=iperf3} < 0.5, p99>3", "{", "}", "a{b=c}<=1,", "received{}<1", "cpu<=-1e999", "p99>200us and received<2.5Gbit/s", "lost>1%", "p50<1e3μs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		limits, err := Parse(s, figures())
		if err != nil {
			if heddle.KindOf(err) != heddle.Usage {
				t.Errorf("%q: kind of %v", s, err)
			}
			return
		}
		for _, l := range limits {
			again, err := Parse(l.String(), figures())
			if err != nil || len(again) != 1 || again[0].String() != l.String() {
				t.Errorf("%q became %q, which reads as %v, %v", s, l, again, err)
			}
		}
	})
}
