package limit

import "strings"

// The metrics about ratios are ratio-MODE, the median of the ratios to that mode
// within one round, and low-ratio-MODE and high-ratio-MODE, the ends of its 95 %
// interval. A condition on the low end allows for the variation of the runs.
const (
	ratioMetric = "ratio-"
	lowEnd      = "low-"
	highEnd     = "high-"
)

// End is a point of a ratio's interval.
type End string

// The points of an interval; "" is its median.
const (
	Median End = ""
	Low    End = lowEnd
	High   End = highEnd
)

// Ratio splits a metric about ratios into the mode that the ratio is to, and the point of the
// interval; ok is false for other metrics.
func (l Limit) Ratio() (over string, end End, ok bool) { return ratioParts(l.Metric) }

func ratioParts(metric string) (over string, end End, ok bool) {
	for _, e := range []End{Low, High} {
		if rest, cut := strings.CutPrefix(metric, string(e)); cut {
			end, metric = e, rest
		}
	}
	over, ok = strings.CutPrefix(metric, ratioMetric)
	return over, end, ok
}

// AddRatios adds the metrics of ratios to each of the modes.
func (g Grammar) AddRatios(modes ...string) {
	for _, mode := range modes {
		for _, end := range []End{Median, Low, High} {
			g.Units[string(end)+ratioMetric+mode] = []string{RatioUnit}
		}
	}
}
