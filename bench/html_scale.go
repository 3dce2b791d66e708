package bench

import (
	"math"
	"strconv"
)

// scale maps values to percent of a plot's width, with some room for the markers at both ends.
type scale struct {
	low, high float64
	log       bool
}

const plotMargin = 3.0

// newScale makes a scale that spans the values. It starts at zero if that is near, and is
// logarithmic if the values are very far apart.
func newScale(values []float64) scale {
	s := scale{math.Inf(1), math.Inf(-1), false}
	for _, v := range values {
		s.low, s.high = min(s.low, v), max(s.high, v)
	}
	switch {
	case math.IsInf(s.low, 1):
		return scale{0, 1, false}
	case s.low > 0 && s.high > 20*s.low:
		s.log = true
		s.low, s.high = s.low/1.2, s.high*1.2
	case s.low >= 0 && s.low < s.high/4:
		s.low, s.high = 0, s.high*1.02
	default:
		room := max((s.high-s.low)*0.08, math.Abs(s.high)*0.01)
		s.low, s.high = s.low-room, s.high+room
	}
	if s.low == s.high {
		s.low, s.high = s.low-1, s.high+1
	}
	return s
}

// ratioScale makes a scale that always contains 1.
func ratioScale(values []float64) scale { return newScale(append([]float64{1}, values...)) }

func (s scale) percent(v float64) float64 {
	part := (v - s.low) / (s.high - s.low)
	if s.log {
		part = math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return plotMargin + (100-2*plotMargin)*min(max(part, 0), 1)
}

// ticks are two to five round values within the scale.
func (s scale) ticks() []float64 {
	if s.log {
		return s.powers()
	}
	step := math.Pow(10, math.Floor(math.Log10((s.high-s.low)/2)))
	for _, by := range []float64{1, 2, 2.5, 5, 10} {
		if (s.high-s.low)/(step*by) <= 4 {
			step *= by
			break
		}
	}
	var all []float64
	for i := math.Ceil(s.low / step); i*step <= s.high && len(all) < 6; i++ {
		all = append(all, i*step)
	}
	return all
}

func (s scale) powers() []float64 {
	var all []float64
	for p := math.Floor(math.Log10(s.low)); p <= math.Ceil(math.Log10(s.high)); p++ {
		if v := math.Pow(10, p); v >= s.low && v <= s.high {
			all = append(all, v)
		}
	}
	if len(all) > 5 {
		var some []float64
		for i := 0; i < len(all); i += (len(all) + 4) / 5 {
			some = append(some, all[i])
		}
		return some
	}
	return all
}

// tickLabel writes a tick without needless digits.
func tickLabel(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 1e6:
		return digits4(v/1e6) + "M"
	case a >= 1e4:
		return digits4(v/1e3) + "k"
	}
	return digits4(v)
}

func digits4(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// coordinate writes a percentage with as many digits as a screen needs.
func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) + "%" }
