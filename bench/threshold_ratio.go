package bench

import "strings"

// The metrics about ratios are ratio-MODE, the median of the ratios to that mode
// within one round, and low-ratio-MODE and high-ratio-MODE, the ends of its 95 %
// interval. A condition on the low end allows for the variation of the runs.
const (
	ratioMetric = "ratio-"
	lowEnd      = "low-"
	highEnd     = "high-"
)

// ratioParts splits such a metric; ok is false for other metrics.
func ratioParts(metric string) (end, over string, ok bool) {
	for _, e := range []string{lowEnd, highEnd} {
		if rest, cut := strings.CutPrefix(metric, e); cut {
			end, metric = e, rest
		}
	}
	over, ok = strings.CutPrefix(metric, ratioMetric)
	return end, over, ok
}

func isRatio(metric string) bool { _, _, ok := ratioParts(metric); return ok }

// addRatios adds the metrics of ratios to each of the modes.
func (g grammar) addRatios(modes []string) {
	for _, mode := range modes {
		for _, end := range []string{"", lowEnd, highEnd} {
			g[end+ratioMetric+mode] = []string{ratioUnit}
		}
	}
}

// ratio returns the cell's ratio to the same cell of another mode.
func (r *Report) ratio(c Cell, over, figure string) (Ratio, bool) {
	return PairedRatio(r.readings(c, figure), r.readings(withMode(c, over), figure), r.Method.Seed)
}

// readings returns the readings of a figure, by round, of the counted rounds.
func (r *Report) readings(c Cell, figure string) map[int]float64 {
	all := map[int]float64{}
	for _, s := range r.Samples {
		if v, ok := s.Figures[figure]; ok && s.Cell == c && !s.Warmup {
			all[s.Round] = v
		}
	}
	return all
}

func (l Limit) ratioValue(r *Report, c CellResult) (float64, bool) {
	end, over, _ := ratioParts(l.Metric)
	ratio, ok := r.ratio(c.Cell, over, l.figure(r, c))
	switch end {
	case lowEnd:
		return ratio.Low, ok
	case highEnd:
		return ratio.High, ok
	}
	return ratio.Median, ok
}
