package scenario_test

import (
	"math"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// TestExtremes: the smallest and the largest parameters that are read make numbers, within what the amount allows.
func TestExtremes(t *testing.T) {
	for _, law := range []string{
		"exponential: 0.000001", "exponential: 16GiB",
		"lognormal: {mean: 0.000001, deviation: 16GiB}", "lognormal: {mean: 16GiB, deviation: 0.000001}",
		"lognormal: {median: 0.000001, sigma: 10}", "lognormal: {median: 16GiB, sigma: 10}",
		"pareto: {scale: 0.000001, alpha: 0.000001}", "pareto: {scale: 16GiB, alpha: 1000}",
		"weibull: {scale: 0.000001, shape: 0.000001}", "weibull: {scale: 16GiB, shape: 0.000001}",
		"weibull: {scale: 16GiB, shape: 1000}", "uniform: [0, 16GiB]", "quantiles: {0.000001: 0, 1: 16GiB}",
	} {
		for _, options := range []string{"", ", per-user: 3", ", min: 1, max: 2", ", minus: 16GiB", ", cap: 0"} {
			text := strings.Replace(good, "{lognormal: {mean: 10KB, deviation: 3KB}, max: 1MiB, per-user: 0.5}", "{"+law+options+"}", 1)
			s, err := scenario.Parse([]byte(text))
			if err != nil || text == good {
				t.Errorf("%s%s: %v", law, options, err)
				continue
			}
			a, stream := s.Behaviours["tinker"].States["work"].Receives, draw.NewStream(1)
			for range 200 {
				if f := a.Factor(stream); math.IsNaN(stream.From(a.Law)*f) || !(f > 0) {
					t.Fatalf("%s%s: no number", law, options)
				} else if v := float64(a.Draw(stream, f)); v < a.Least-0.5 || v > a.Most+0.5 {
					t.Fatalf("%s%s: %v is not from %v to %v", law, options, v, a.Least, a.Most)
				}
			}
		}
	}
}
