package bench

import "strings"

// load is CPU time of the whole machine per second of a run: 1 is one fully busy core.
// Steal is what the hypervisor gave to others meanwhile: no work of this machine.
type load struct{ user, system, softirq, steal float64 }

func (l load) total() float64 { return l.user + l.system + l.softirq }

// loadOf is the median over the counted rounds of each part.
func (v *view) loadOf(c CellResult) load {
	var user, system, softirq, steal []float64
	for _, s := range v.samplesOf(c.Cell) {
		user = append(user, s.CPU.User/s.Seconds)
		system = append(system, s.CPU.System/s.Seconds)
		softirq = append(softirq, s.CPU.SoftIRQ/s.Seconds)
		steal = append(steal, s.CPU.Steal/s.Seconds)
	}
	if user == nil {
		return load{}
	}
	return load{Median(user), Median(system), Median(softirq), Median(steal)}
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

// perUnit is the CPU time of one packet, request or megabyte, if the probe counts them. Like any
// such figure, it includes the machine's other work.
func perUnit(c CellResult, figures []Figure) string {
	for _, f := range figures {
		if stat, ok := c.Figures[costName]; ok && f.Name == costName {
			_, what, _ := strings.Cut(f.Unit, " per ")
			return number(stat.Median) + " µs/" + what
		}
	}
	return ""
}
