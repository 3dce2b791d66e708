package classifier

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// table is what a classifier sees of sessions: a row each, a column for each feature. A feature has one value in a session, or
// several, such as the pauses between two actions, or none.
type table struct {
	names []string
	rows  [][][]float64
}

// described is a session in words: counts, which are 0 where they are missing, and measures.
type described struct {
	counts   map[string]float64
	measures map[string][]float64
}

// newTable describes sessions of several crowds, one after the other. The sessions of a user follow each other in time.
func newTable(crowds ...[]Session) (t table) {
	var all []described
	counts, measures := map[string]bool{}, map[string]bool{}
	for _, crowd := range crowds {
		for i, s := range crowd {
			d := describe(s)
			if i > 0 && crowd[i-1].User == s.User {
				d.measures["since the session before"] = []float64{(s.Begun - crowd[i-1].Begun).Seconds()}
			}
			for name := range d.counts {
				counts[name] = true
			}
			for name := range d.measures {
				measures[name] = true
			}
			all = append(all, d)
		}
	}
	t.names = slices.Concat(scenario.Sorted(counts), scenario.Sorted(measures))
	for _, d := range all {
		row := make([][]float64, len(t.names))
		for i, name := range t.names {
			if i < len(counts) {
				row[i] = []float64{d.counts[name]}
			} else {
				row[i] = d.measures[name]
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// describe describes a session. An end that was not its own is none.
func describe(s Session) described {
	d := described{map[string]float64{"steps": float64(len(s.Steps))}, map[string][]float64{"begins": {s.Begun.Seconds()}}}
	times, before := map[string][]float64{}, ""
	for _, step := range s.Steps {
		d.counts["flows"] += float64(step.Flows)
		d.counts[step.Do]++
		if step.Mistake != "" {
			d.counts["mistakes"]++
		}
		if before != "" {
			way := before + " → " + step.Do
			d.counts[way]++
			times["pause "+way] = append(times["pause "+way], step.Pause.Seconds())
		}
		if step.Lasted > 0 {
			times["length of "+step.Do] = append(times["length of "+step.Do], step.Lasted.Seconds())
		}
		before = step.Do
	}
	if !s.Cut {
		d.counts[before+" → end"]++
	}
	for name, all := range times {
		d.summarise(name, all)
	}
	return d
}

// summarise adds several times, and how they are in this session: the mean and the deviation of their logarithm.
func (d described) summarise(name string, all []float64) {
	d.measures[name] = all
	if len(all) > 1 {
		logs := make([]float64, len(all))
		for i, v := range all {
			logs[i] = math.Log(v + Resolution.Seconds()) // it may be 0
		}
		mean, deviation := stat.MeanStdDev(logs, nil)
		d.measures[name+", mean of a session"], d.measures[name+", spread in a session"] = []float64{math.Exp(mean)}, []float64{deviation}
	}
}
