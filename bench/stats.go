package bench

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/heddle-network/heddle/limit"
)

// Unstable is the coefficient of variation above which a cell is flagged.
const Unstable = 0.15

// resamples of the bootstrap.
const resamples = 2000

// Stat sums up one figure over the rounds.
type Stat struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	// Q1 and Q3 bound the interquartile range.
	Q1  float64 `json:"q1"`
	Q3  float64 `json:"q3"`
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	// CV is the sample's standard deviation divided by its mean.
	CV float64 `json:"cv"`
}

// Ratio is the median over the rounds of a figure divided by another column's
// figure of the same round, with its bootstrap 95 % interval. With fewer than
// six rounds the interval is no wider than the range of the rounds' ratios, and
// so covers less than 95 %.
type Ratio struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// At returns a point of the ratio's interval.
func (r Ratio) At(end limit.End) float64 {
	switch end {
	case limit.Low:
		return r.Low
	case limit.High:
		return r.High
	}
	return r.Median
}

// Median of a sample; NaN if it is empty.
func Median(v []float64) float64 { return quantile(sorted(v), 0.5) }

func sorted(v []float64) []float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v
}

// quantile interpolates linearly between the two nearest ranks (Hyndman and
// Fan's type 7, the default of R and NumPy).
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	part := at - float64(low)
	return sorted[low]*(1-part) + sorted[high]*part
}

// Summarise sums up a sample of at least one value.
func Summarise(v []float64) Stat {
	s := sorted(v)
	stat := Stat{N: len(s), Median: quantile(s, 0.5), Q1: quantile(s, 0.25), Q3: quantile(s, 0.75), Min: s[0], Max: s[len(s)-1]}
	mean, squares := 0.0, 0.0
	for _, x := range s {
		mean += x / float64(len(s))
	}
	for _, x := range s {
		squares += (x - mean) * (x - mean)
	}
	if len(s) > 1 && mean != 0 {
		stat.CV = math.Sqrt(squares/float64(len(s)-1)) / math.Abs(mean)
	}
	return stat
}

// PairedRatio compares two samples round by round; ok is false if no round has both values, or the
// divisor is zero. The same seed gives the same interval.
func PairedRatio(a, b map[int]float64, seed uint64) (ratio Ratio, ok bool) {
	var rounds []int
	for round := range a {
		if d, both := b[round]; both && d > 0 {
			rounds = append(rounds, round)
		}
	}
	if len(rounds) == 0 {
		return Ratio{}, false
	}
	slices.Sort(rounds)
	ratios := make([]float64, len(rounds))
	for i, round := range rounds {
		ratios[i] = a[round] / b[round]
	}
	low, high := bootstrap(ratios, seed)
	return Ratio{N: len(ratios), Median: Median(ratios), Low: low, High: high}, true
}

// bootstrap returns the percentile interval (2.5 % to 97.5 %) of the median of
// samples drawn with replacement.
func bootstrap(v []float64, seed uint64) (low, high float64) {
	r := rand.New(rand.NewPCG(seed, uint64(len(v))))
	medians, draw := make([]float64, resamples), make([]float64, len(v))
	for i := range medians {
		for j := range draw {
			draw[j] = v[r.IntN(len(v))]
		}
		slices.Sort(draw)
		medians[i] = quantile(draw, 0.5)
	}
	slices.Sort(medians)
	return quantile(medians, 0.025), quantile(medians, 0.975)
}
