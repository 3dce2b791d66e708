package classifier

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// table is what a classifier sees of sessions: a row each, a column for each feature. What a session does not have, such
// as a pause between steps that it did not do, is not a number there.
type table struct {
	names []string
	rows  [][]float64
}

// described is a session in words: counts, which are 0 where they are missing, and measures.
type described struct{ counts, measures map[string]float64 }

// newTable describes sessions of several crowds, one after the other. The sessions of a user follow each other in time.
func newTable(crowds ...[]Session) (t table) {
	var all []described
	counts, measures := map[string]bool{}, map[string]bool{}
	for _, crowd := range crowds {
		for i, s := range crowd {
			d := describe(s)
			if i > 0 && crowd[i-1].User == s.User {
				d.measures["since the session before"] = seconds(s.Begun - crowd[i-1].Begun)
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
		row := make([]float64, len(t.names))
		for i, name := range t.names {
			row[i] = d.counts[name]
			if i >= len(counts) {
				if v, has := d.measures[name]; has {
					row[i] = v
				} else {
					row[i] = math.NaN()
				}
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// describe describes a session. An end that was not its own is none.
func describe(s Session) described {
	d := described{map[string]float64{"steps": float64(len(s.Steps))}, map[string]float64{"begins": seconds(s.Begun)}}
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
			times["pause "+way] = append(times["pause "+way], seconds(step.Pause))
		}
		if step.Lasted > 0 {
			times["length of "+step.Do] = append(times["length of "+step.Do], seconds(step.Lasted))
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

// summarise adds what there is to say of several times: their logarithm's mean and deviation, the least, the middle one,
// the most.
func (d described) summarise(name string, all []float64) {
	slices.Sort(all)
	logs := make([]float64, len(all))
	for i, v := range all {
		logs[i] = math.Log(v + Resolution.Seconds()) // it may be 0
	}
	mean, deviation := stat.MeanStdDev(logs, nil)
	d.measures[name+", mean"] = math.Exp(mean) - Resolution.Seconds()
	d.measures[name+", shortest"], d.measures[name+", longest"] = all[0], all[len(all)-1]
	d.measures[name+", median"] = stat.Quantile(0.5, stat.Empirical, all, nil)
	if len(all) > 1 {
		d.measures[name+", spread"] = deviation
	}
}

func seconds(d time.Duration) float64 { return d.Seconds() }
