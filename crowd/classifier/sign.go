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
	// Distance is the largest difference between the shares of values that are up to a number (Kolmogorov and Smirnov).
	Distance float64 `json:"distance"`
	// Played and Drawn are the means. Times are in seconds.
	Played float64 `json:"played"`
	Drawn  float64 `json:"drawn"`

	sure float64 // Distance, times the root of the numbers of values, as in the test of Kolmogorov and Smirnov
}

// mostSigns is how many are told.
const mostSigns = 3

// signs are the features by which the first rows differ most clearly from the others.
func signs(t table, first int) (all []Sign) {
	for column, name := range t.names {
		var values [2][]float64
		for i, row := range t.rows {
			side := truth(i >= first)
			values[side] = append(values[side], row[column]...)
		}
		if len(values[0]) == 0 || len(values[1]) == 0 {
			continue
		}
		slices.Sort(values[0])
		slices.Sort(values[1])
		distance, n, m := min(1, stat.KolmogorovSmirnov(values[0], nil, values[1], nil)), float64(len(values[0])), float64(len(values[1]))
		all = append(all, Sign{name, distance, stat.Mean(values[0], nil), stat.Mean(values[1], nil), distance * math.Sqrt(n*m/(n+m))})
	}
	slices.SortStableFunc(all, func(a, b Sign) int { return cmp.Compare(b.sure, a.sure) })
	return all[:min(len(all), mostSigns)]
}
