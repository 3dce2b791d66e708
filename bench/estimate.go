package bench

import "time"

// Estimate returns how long a run will take.
func Estimate(m Matrix) time.Duration {
	m = m.withDefaults()
	var all time.Duration
	for round := capacityRound; round < m.WarmupRounds+m.Rounds; round++ {
		all += m.estimate(m.roundCells(round))
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

// prepareCost is mostly the two seconds that a sockperf client sleeps before it starts;
// all cells of a batch sleep at the same time.
func (m Matrix) prepareCost(batch []Cell) time.Duration {
	cost := 30 * time.Millisecond
	for _, c := range batch {
		if p, parks := m.probe(c).(preparedAhead); parks {
			cost = max(cost, p.sleep()+300*time.Millisecond)
		}
	}
	return cost + time.Duration(len(batch))*10*time.Millisecond
}

// batchMemory limits the memory of the waiting programs of a batch, in MiB.
const batchMemory = 768

// emulatedBatch bounds how many cells wait on an emulated processor, which takes long
// to start their programs.
const emulatedBatch = 5

// slowness is the factor for time limits on an emulated processor.
func (m Matrix) slowness() time.Duration {
	if m.Emulated {
		return 6
	}
	return 1
}

// preparedAhead is a probe whose programs are started before their turn.
type preparedAhead interface {
	// memory is the memory that one pair's programs use while they wait, in MiB.
	memory(m Matrix) int
	// sleep is how long the programs cannot be used after their start.
	sleep() time.Duration
}

// batches splits a sequence of cells into batches that are prepared together. The memory and
// the ports of a pair limit their size; on an emulated processor they are small.
func (m Matrix) batches(cells []Cell) [][]Cell {
	var all [][]Cell
	var batch []Cell
	used, ports := 0, map[string]int{}
	for _, c := range cells {
		need := 0
		if p, ok := m.probe(c).(preparedAhead); ok {
			need = p.memory(m) * c.Pairs
		}
		column, takes := m.column(c).name(), int(slots(m.probe(c)))
		full := used+need > batchMemory || ports[column]+takes > PortsPerPair || m.Emulated && len(batch) == emulatedBatch
		if len(batch) > 0 && full {
			all = append(all, batch)
			batch, used, ports = nil, 0, map[string]int{}
		}
		batch = append(batch, c)
		used += need
		ports[column] += takes
	}
	if len(batch) > 0 {
		all = append(all, batch)
	}
	return all
}
