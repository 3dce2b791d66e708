package draw

import (
	"fmt"
	"sort"
)

// Quantiles is a law of which some quantiles are known. Between two of them each number is alike. Below the
// first one the numbers begin at Low; the last one has probability 1.
type Quantiles struct {
	Low    float64
	Known  []float64 // rising
	Chance []float64 // that a draw does not exceed the known number; rising, the last is 1
}

func (q Quantiles) Quantile(p float64) float64 {
	i := min(sort.SearchFloat64s(q.Chance, p), len(q.Known)-1)
	low, from := q.Low, 0.0
	if i > 0 {
		low, from = q.Known[i-1], q.Chance[i-1]
	}
	return low + float64(float64(q.Known[i]-low)*((p-from)/(q.Chance[i]-from)))
}

func (q Quantiles) String() string {
	return fmt.Sprintf("%d known quantiles, from %g to %g", len(q.Known), q.Low, q.Known[len(q.Known)-1])
}
