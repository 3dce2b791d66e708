package bench

import (
	"math/rand/v2"
	"slices"
)

// roundReadings holds the readings of a round; base is 0 if there is none.
type roundReadings struct{ ours, peer, base float64 }

func ours(t roundReadings) float64 { return t.ours }
func peer(t roundReadings) float64 { return t.peer }
func base(t roundReadings) float64 { return t.base }

// rounds returns the rounds that have all readings that the goal needs.
func (g Goal) rounds(all map[Cell]readings) (out []roundReadings) {
	o, p, b := all[g.Ours.Cell][g.Ours.Figure], all[g.Peer.Cell][g.Peer.Figure], all[g.Base.Cell][g.Base.Figure]
	for _, round := range sortedKeys(o) {
		t := roundReadings{ours: o[round], peer: p[round], base: b[round]}
		if t.ours > 0 && t.peer > 0 && (t.base > 0 || g.Of != Extra) {
			out = append(out, t)
		}
	}
	return out
}

// value returns the median of the rounds' ratios. For Extra it divides the medians of the
// rounds' differences, since single differences are small and vary much; ok is false if the
// peer's difference is not positive.
func (g Goal) value(rounds []roundReadings) (v float64, ok bool) {
	switch g.Of {
	case Extra:
		over := medianOf(rounds, func(t roundReadings) float64 { return t.peer - t.base })
		return medianOf(rounds, func(t roundReadings) float64 { return t.ours - t.base }) / over, over > 0
	case Speed:
		return medianOf(rounds, func(t roundReadings) float64 { return t.peer / t.ours }), true
	}
	return medianOf(rounds, func(t roundReadings) float64 { return t.ours / t.peer }), true
}

func medianOf(rounds []roundReadings, of func(roundReadings) float64) float64 {
	all := make([]float64, len(rounds))
	for i, t := range rounds {
		all[i] = of(t)
	}
	return Median(all)
}

// interval returns the 95 % bootstrap interval of the value over the rounds. Draws without a
// value count as the worst value.
func (g Goal) interval(rounds []roundReadings, seed uint64) (Ratio, bool) {
	v, ok := g.value(rounds)
	if !ok {
		return Ratio{}, false
	}
	r := rand.New(rand.NewPCG(seed, uint64(len(rounds))))
	draw, worst := make([]roundReadings, len(rounds)), 0
	var values []float64
	for range resamples {
		for i := range draw {
			draw[i] = rounds[r.IntN(len(rounds))]
		}
		if x, ok := g.value(draw); ok {
			values = append(values, x)
		} else {
			worst++
		}
	}
	slices.Sort(values)
	for range worst {
		values = append(values, values[len(values)-1])
	}
	return Ratio{N: len(rounds), Median: v, Low: quantile(values, 0.025), High: quantile(values, 0.975)}, true
}
