package report

import (
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/crowd/tally"
)

// caches are what browsers had of pages, and what they asked for.
func caches(r Report) (all []Figure) {
	for _, name := range Names(r, func(one Round) map[string]tally.Objects { return one.Caches }) {
		of := func(label, metric string, unit Unit, value func(tally.Objects) float64) {
			all = append(all, Figure{Part: "caches", Label: name + ", " + label, Metric: metric, Behaviour: name, Unit: unit, Better: bench.Informative,
				Value: func(one Round) (float64, bool) { o := one.Caches[name]; return value(o), o.All() > 0 }})
		}
		of("hits", "cache-hits", Share, func(o tally.Objects) float64 { share, _ := o.Hits(); return share })
		of("fresh", "cache-fresh", Number, func(o tally.Objects) float64 { return float64(o.Fresh) })
		of("unchanged", "cache-unchanged", Number, func(o tally.Objects) float64 { return float64(o.Unchanged) })
		of("changed", "cache-changed", Number, func(o tally.Objects) float64 { return float64(o.Changed) })
		of("new", "cache-new", Number, func(o tally.Objects) float64 { return float64(o.New) })
		of("bytes saved", "cache-saved", Bytes, func(o tally.Objects) float64 { return float64(o.Saved) })
		of("bytes got", "cache-got", Bytes, func(o tally.Objects) float64 { return float64(o.Got) })
	}
	return all
}
