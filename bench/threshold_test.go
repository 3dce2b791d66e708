package bench

import (
	"errors"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestParseLimits: an expression about a report names its figures, in their units.
func TestParseLimits(t *testing.T) {
	got, err := ParseLimits("received{wire=intact}<2 Gbit/s and low-ratio-docker-overlay{mode=overlay,figure=p99}<.97")
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	for text, want := range map[string]string{
		"p99 > 200Gbit/s":         "p99 is not in Gbit/s; there are attached (containers), cost (µs), cpu (%),",
		"received < 3ms":          "received (packets/s, Gbit/s)",
		"received < 3 requests/s": "is not in requests/s",
		"ratio-host < 3us":        "is not in us",
		"ratio-hosts < 3":         "low-ratio-MODE",
		"mean-ratio-host < 3":     "unknown metric",
		"speed > 1us":             "p99 (µs)",
		"missed-goals{mode=a}>1":  "has no labels",
	} {
		_, err := ParseLimits(text)
		if !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
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
		"received{mode=macvlan}<1":                              true,  // failed: no figure
		"received{mode=nothing}<1":                              true,  // chooses nothing
		"p50{mode=host,span=same-host}>10.5us":                  false, // it is 10.42 µs
		"p50{mode=host,span=same-host}>0.0105ms":                false,
		"p50{mode=host,span=same-host}>10000ns":                 true,
		"p50{mode=host,span=same-host}<10us":                    false,
		"received{mode=bridge}>30Gbit/s":                        true,
		"received{mode=bridge}>40Gbit/s":                        false,
		"received{mode=bridge}<4GB/s":                           true,
		"received{mode=bridge}<100packets/s":                    true, // chooses nothing: no packets in this run
		"ratio-host{mode=bridge,probe=iperf3}<75%":              false,
		"ratio-host{mode=bridge,probe=iperf3}<85%":              true,
		"p50>1s and p99>1s":                                     false,
		"p50>1s and p99>1us":                                    true,
		"p50{wire=intact}>1s":                                   false,
		"p50{wire=cut}>1s":                                      true, // chooses nothing
		"rtt-avg>1s":                                            true, // a figure that no cell has
		"ratio-bridge{mode=host,probe=iperf3} > 1.2":            true,
		"low-ratio-host{mode=bridge,probe=iperf3} < 0.79":       false,
		"low-ratio-host{mode=bridge,probe=iperf3} < 0.81":       true,
		"high-ratio-host{mode=bridge,probe=iperf3} > 0.79":      true,
		// The last round of three is thrice as slow: the median does not show it.
		"ratio-host{mode=bridge,span=across,figure=p50} > 1.3":      false,
		"high-ratio-host{mode=bridge,span=across,figure=p50} > 1.3": true,
		"ratio-macvlan{mode=bridge,probe=sockperf-pingpong} < 1":    false,
		"ratio-bridge{mode=bridge} < 1":                             true, // chooses nothing
		"ratio-overlay{mode=bridge} < 1":                            true, // chooses nothing: no such column
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
