package classifier

import (
	"math"
	"slices"
	"sort"
)

// parts is into how many parts of like size each feature is cut.
const parts = 10

// term is an input of the classifier that is not 0.
type term struct {
	at    int
	value float64
}

// basis turns a row into terms. A value counts by its rank among the values that were learnt from, so that a pause of a minute
// weighs no more than one of a second: by the first two polynomials of the rank (Legendre), which say that values are larger,
// and further apart; and by the part of the values in which it lies, which follows any course. What has no value is a part of
// its own.
type basis struct {
	known [][]float64 // values of each feature, rising
	edges [][]float64 // between parts, rising
	first []int       // term of each feature
	count int         // of all terms
}

// newBasis is that of some rows.
func newBasis(t table, rows []int) (b basis) {
	for column := range t.names {
		var values, edges []float64
		for _, row := range rows {
			values = append(values, t.rows[row][column]...)
		}
		slices.Sort(values)
		for i := 1; i < parts && len(values) > 0; i++ {
			edges = append(edges, values[i*len(values)/parts])
		}
		edges = slices.Compact(edges)
		b.known, b.edges, b.first = append(b.known, values), append(b.edges, edges), append(b.first, b.count)
		b.count += polynomials + len(edges) + 2 // between and beside the edges, and nowhere
	}
	return b
}

// polynomials is how many of them there are.
const polynomials = 2

// of are the terms of a row. Several values of a feature add up, divided by the root of their number, so that their sum varies
// as one value does.
func (b basis) of(row [][]float64) (all []term) {
	for i, values := range row {
		sums := make([]float64, polynomials+len(b.edges[i])+2)
		for _, v := range values {
			x := rank(b.known[i], v)
			sums[0] += math.Sqrt(3) * x
			sums[1] += math.Sqrt(5) * (3*x*x - 1) / 2
			sums[polynomials+sort.SearchFloat64s(b.edges[i], v)]++ // an edge belongs to the part below it
		}
		if len(values) == 0 {
			sums[len(sums)-1] = 1
		}
		for j, sum := range sums {
			if sum != 0 {
				all = append(all, term{b.first[i] + j, sum / math.Sqrt(max(1, float64(len(values))))})
			}
		}
	}
	return all
}

// rank is where a value lies among others, from -1 to 1; 0 if all are alike.
func rank(known []float64, v float64) float64 {
	if len(known) == 0 {
		return 0
	}
	below := sort.SearchFloat64s(known, v)
	up := sort.Search(len(known), func(i int) bool { return known[i] > v })
	return float64(below+up)/float64(len(known)) - 1
}
