package bench

import "strings"

// cost is processor time of the whole machine by the second of a run: 1 is one
// core fully busy.
type cost struct{ user, system, softirq float64 }

func (c cost) total() float64 { return c.user + c.system + c.softirq }

// costOf is the median over the counted rounds of each part.
func (v *view) costOf(c CellResult) cost {
	var user, system, softirq []float64
	for _, s := range v.samplesOf(c.Cell) {
		user = append(user, s.CPU.User/s.Seconds)
		system = append(system, s.CPU.System/s.Seconds)
		softirq = append(softirq, s.CPU.SoftIRQ/s.Seconds)
	}
	if user == nil {
		return cost{}
	}
	return cost{Median(user), Median(system), Median(softirq)}
}

func (v *view) samplesOf(c Cell) []Sample {
	if v.bySample == nil {
		v.bySample = map[Cell][]Sample{}
		for _, s := range v.Samples {
			if !s.Warmup && s.Error == "" && s.Seconds > 0 {
				v.bySample[s.Cell] = append(v.bySample[s.Cell], s)
			}
		}
	}
	return v.bySample[c]
}

// perWhat is what the processor time is divided by: "packet" of "packets/s".
// A figure that is no rate has none.
func perWhat(f Figure) string {
	what, rate := strings.CutSuffix(unitOf(f), "/s")
	switch {
	case !rate || what == "":
		return ""
	case strings.HasSuffix(what, "bit"):
		return "byte"
	}
	return strings.TrimSuffix(what, "s")
}

var bitUnits = map[string]float64{"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}

// perUnit is the median over the rounds of the processor time for one packet,
// request or byte. It holds the machine's other work too, like any such figure.
func (v *view) perUnit(c Cell, f Figure) string {
	what := perWhat(f)
	var all []float64
	for _, s := range v.samplesOf(c) {
		rate := s.Figures[f.Name]
		if bits, ok := bitUnits[unitOf(f)]; ok {
			rate *= bits / 8
		}
		if used := s.CPU.User + s.CPU.System + s.CPU.SoftIRQ; rate > 0 && used > 0 {
			all = append(all, used/s.Seconds/rate*1e9)
		}
	}
	if what == "" || all == nil {
		return ""
	}
	ns := Median(all)
	switch {
	case ns >= 1e6:
		return number(ns/1e6) + " ms/" + what
	case ns >= 1e3:
		return number(ns/1e3) + " µs/" + what
	}
	return number(ns) + " ns/" + what
}
