package classifier

import (
	"math"
	"slices"
	"sort"
)

// parts is into how many parts of like size each feature is cut.
const parts = 10

// bins cut the values of each feature into parts, so that a weight for each part can follow any course, and a pause of a
// minute weighs no more than one of a second. What has no value is a part of its own.
type bins struct {
	edges [][]float64 // of each feature, rising
	first []int       // part of each feature
	count int         // of all parts
}

// newBins cuts the values of some rows.
func newBins(t table, rows []int) (b bins) {
	for column := range t.names {
		var values, edges []float64
		for _, row := range rows {
			if v := t.rows[row][column]; !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		slices.Sort(values)
		for i := 1; i < parts && len(values) > 0; i++ {
			edges = append(edges, values[i*len(values)/parts])
		}
		edges = slices.Compact(edges)
		b.edges, b.first = append(b.edges, edges), append(b.first, b.count)
		b.count += len(edges) + 2 // between and beside the edges, and nowhere
	}
	return b
}

// of lists the parts in which the values of a row lie, one for each feature.
func (b bins) of(row []float64) []int {
	all := make([]int, len(row))
	for i, v := range row {
		at := len(b.edges[i]) + 1
		if !math.IsNaN(v) {
			at = sort.SearchFloat64s(b.edges[i], v) // an edge belongs to the part below it
		}
		all[i] = b.first[i] + at
	}
	return all
}
