package bench

import (
	"time"

	"github.com/heddle-network/heddle"
)

// quickBudget is what a quick run may take, so that it ends within three
// minutes with the making of its endpoints.
const quickBudget = 165 * time.Second

// Preset returns the matrix of a named preset over the columns.
func Preset(name string, columns []Column) (Matrix, error) {
	switch name {
	case "quick":
		return Quick(columns), nil
	case "full":
		return Full(columns), nil
	}
	return Matrix{}, heddle.Errorf(heddle.BadArgument, "preset", name, "quick or full")
}

// Quick is for a first look: one pair, short runs. It takes the richest choice
// of sizes and rounds that fits three minutes with so many columns; with more
// than about thirteen columns even the smallest takes longer, see Estimate.
func Quick(columns []Column) Matrix {
	m := Matrix{Columns: columns, Probes: Probes(), PairCounts: []int{1}, Placement: SeparateCores, Seed: 1}
	for _, try := range []struct {
		sizes  []int
		rounds int
		d      time.Duration
	}{
		{[]int{64, 1024}, 5, time.Second},
		{[]int{64, 1024}, 4, time.Second},
		{[]int{64, 1024}, 3, time.Second},
		{[]int{64, 1024}, 3, 500 * time.Millisecond},
		{[]int{64}, 3, 500 * time.Millisecond},
		{[]int{64}, 3, 300 * time.Millisecond},
		{[]int{64}, 3, 250 * time.Millisecond},
	} {
		m.Sizes, m.Rounds, m.Duration = try.sizes, try.rounds, try.d
		if Estimate(m) <= quickBudget {
			break
		}
	}
	return m
}

// Full is for publication: ten rounds of five seconds after one that is
// dropped, with as many of one and ten pairs as the columns have.
func Full(columns []Column) Matrix {
	m := Matrix{
		Columns: columns, Probes: Probes(), Sizes: []int{28, 1024}, PairCounts: []int{1},
		Rounds: 10, WarmupRounds: 1, Duration: 5 * time.Second, Warmup: time.Second,
		Placement: SeparateCores, Seed: 1,
	}
	for _, c := range columns {
		if len(c.Pairs) < 10 {
			return m
		}
	}
	m.PairCounts = []int{1, 10}
	return m
}

// Estimate is how long a run will take.
func Estimate(m Matrix) time.Duration {
	m = m.withDefaults()
	var all time.Duration
	for round := range m.WarmupRounds + m.Rounds {
		all += m.estimate(m.order(round))
	}
	return all
}

func (m Matrix) estimate(cells []Cell) time.Duration {
	var all time.Duration
	for _, batch := range m.batches(cells) {
		all += m.prepareCost(batch)
		for _, c := range batch {
			all += m.probe(c).Cost(m, c)
		}
	}
	return all
}

// prepareCost is dominated by the two seconds that a sockperf client sleeps
// before it starts, which all cells of a batch spend together.
func (m Matrix) prepareCost(batch []Cell) time.Duration {
	cost := 30 * time.Millisecond
	for _, c := range batch {
		if _, parks := m.probe(c).(parker); parks {
			cost = max(cost, clientSleep+300*time.Millisecond)
		}
	}
	return cost + time.Duration(len(batch))*10*time.Millisecond
}

// batchMemory bounds what the waiting programs of a batch take, in MiB.
const batchMemory = 768

// parker is a probe whose programs are started ahead of their turn.
type parker interface {
	// memory is what one pair's programs take while they wait, in MiB.
	memory(m Matrix) int
}

// batches cuts a sequence of cells into runs that are prepared together: not
// more than the memory allows, and not more than a pair has ports.
func (m Matrix) batches(cells []Cell) [][]Cell {
	var all [][]Cell
	var batch []Cell
	used, ports := 0, map[string]int{}
	for _, c := range cells {
		need := 0
		if p, ok := m.probe(c).(parker); ok {
			need = p.memory(m) * c.Pairs
		}
		column := c.Mode + "/" + c.Span
		if len(batch) > 0 && (used+need > batchMemory || ports[column] == PortsPerPair) {
			all = append(all, batch)
			batch, used, ports = nil, 0, map[string]int{}
		}
		batch = append(batch, c)
		used += need
		ports[column]++
	}
	if len(batch) > 0 {
		all = append(all, batch)
	}
	return all
}
