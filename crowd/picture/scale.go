package picture

import "math"

// scale is logarithmic, from a power of ten of nanoseconds to a value.
type scale struct{ from, to float64 }

// scaleOf has room for all rows.
func scaleOf(rows []row) scale {
	low, high := math.Inf(1), 0.0
	for _, r := range rows {
		for _, p := range r.spots {
			low, high = min(low, p.low), max(high, p.high)
		}
	}
	low = max(low, 1)
	s := scale{low / 1.2, high * 1.2}
	for ticks := s.ticks(); len(ticks) < 2; ticks = s.ticks() { // a scale says something by two of them
		s.from, s.to = s.from/1.5, s.to*1.5
	}
	return s
}

// x is where a value is, in pixels.
func (s scale) x(v float64) float64 {
	return labelWide + edge + plotWide*math.Log(max(v, s.from)/s.from)/math.Log(s.to/s.from)
}

// ticks are the values 1, 2 and 5 times a power of ten that lie on it; without the 2 and 5 if there would be many.
func (s scale) ticks() []float64 {
	for _, steps := range [][]float64{{1, 2, 5}, {1}} {
		var all []float64
		for power := math.Pow(10, math.Floor(math.Log10(s.from))); power <= s.to; power *= 10 {
			for _, step := range steps {
				if at := power * step; at >= s.from && at <= s.to {
					all = append(all, at)
				}
			}
		}
		if len(all) <= 9 || len(steps) == 1 {
			return all
		}
	}
	return nil
}
