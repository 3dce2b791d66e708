package limit

import "strings"

// measure is what a unit measures, and how many base units it is.
type measure struct {
	of   string
	base float64
}

var measures = map[string]measure{
	"ns": {"time", 1}, "us": {"time", 1e3}, "µs": {"time", 1e3}, "μs": {"time", 1e3}, "ms": {"time", 1e6}, "s": {"time", 1e9},
	"bit/s": {"bits", 1}, "kbit/s": {"bits", 1e3}, "Mbit/s": {"bits", 1e6}, "Gbit/s": {"bits", 1e9},
	"B/s": {"bits", 8}, "kB/s": {"bits", 8e3}, "MB/s": {"bits", 8e6}, "GB/s": {"bits", 8e9},
	"B": {"bytes", 1}, "kB": {"bytes", 1e3}, "KB": {"bytes", 1e3}, "MB": {"bytes", 1e6}, "GB": {"bytes", 1e9},
	"KiB": {"bytes", 1 << 10}, "MiB": {"bytes", 1 << 20}, "GiB": {"bytes", 1 << 30},
	"%": {"percent", 1}, RatioUnit: {"ratio", 1},
}

var multiples = map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9}

// measureOf reads a unit, and reports whether it is known. Of "% of sent" only the first word counts.
func measureOf(unit string) (measure, bool) {
	unit, _, _ = strings.Cut(unit, " ")
	if m, ok := measures[unit]; ok {
		return m, true
	}
	what, rate := strings.CutSuffix(unit, "/s")
	if !rate {
		return measure{}, false
	}
	if times, plain := multiples[what]; plain {
		return measure{"rate", times}, true
	}
	return measure{"rate of " + what, 1}, true
}

// convert converts a value from one unit to another, and reports whether they measure the same. A
// rate without a name (k/s) fits any count per second, and a ratio may be written in percent. ""
// stands for the other unit.
func convert(v float64, from, to string) (float64, bool) {
	if from == "" {
		return v, true
	}
	a, known := measureOf(from)
	b, alsoKnown := measureOf(to)
	switch {
	case !known || !alsoKnown:
		return 0, false
	case a.of == b.of, a.of == "rate" && strings.HasPrefix(b.of, "rate of "):
		return v * (a.base / b.base), true
	case a.of == "percent" && b.of == "ratio":
		return v / 100, true
	}
	return 0, false
}
