package classifier

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Sign is a feature by which sessions differ.
type Sign struct {
	Feature string `json:"feature"`
	// Distance is the largest difference between the shares of sessions that have up to a value (Kolmogorov and Smirnov); what
	// does not have the feature has the least value.
	Distance float64 `json:"distance"`
	// Played and Drawn are the means of those sessions that have it. Times are in seconds.
	Played float64 `json:"played"`
	Drawn  float64 `json:"drawn"`
}

// mostSigns is how many are told.
const mostSigns = 3

// signs are the features by which the first rows differ most from the others.
func signs(t table, first int) (all []Sign) {
	for column, name := range t.names {
		var values, has [2][]float64
		for i, row := range t.rows {
			side, v := truth(i >= first), row[column]
			if math.IsNaN(v) {
				v = math.Inf(-1)
			} else {
				has[side] = append(has[side], v)
			}
			values[side] = append(values[side], v)
		}
		if len(has[0]) == 0 || len(has[1]) == 0 { // JSON has no number for a mean of nothing
			continue
		}
		slices.Sort(values[0])
		slices.Sort(values[1])
		all = append(all, Sign{name, stat.KolmogorovSmirnov(values[0], nil, values[1], nil), stat.Mean(has[0], nil), stat.Mean(has[1], nil)})
	}
	slices.SortStableFunc(all, func(a, b Sign) int { return cmp.Compare(b.Distance, a.Distance) })
	return all[:min(len(all), mostSigns)]
}
