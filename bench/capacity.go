package bench

import (
	"cmp"
	"context"
	"slices"
)

// Capacity is the rate of the slowest mode over one span and wire. The loads of the UnderLoad
// probes are parts of it, and so the same for all modes.
type Capacity struct {
	Span string `json:"span"`
	Wire string `json:"wire,omitempty"`
	Size int    `json:"size"`
	// Mode is the slowest mode. PerSecond is what its server received, in messages.
	Mode      string  `json:"mode"`
	PerSecond float64 `json:"perSecond"`
}

// capacityRound is the number of the round that finds the capacities. Its
// samples are recorded like those of a warm-up.
const capacityRound = -1

// needsCapacity reports whether a probe offers a part of the capacity.
func (m Matrix) needsCapacity() bool {
	return slices.ContainsFunc(m.Probes, func(p Probe) bool {
		u, ok := p.(UnderLoad)
		return ok && u.Percent > 0
	})
}

// capacityCells are one run of sockperf at full speed for each column and size.
func (m Matrix) capacityCells() []Cell {
	if !m.needsCapacity() {
		return nil
	}
	only := m
	only.Probes, only.PairCounts = []Probe{Throughput{}}, []int{1}
	return only.order(capacityRound)
}

// capacities returns the lowest rate of each group of samples of the capacity round.
func capacities(samples []Sample) []Capacity {
	var all []Capacity
	for _, s := range samples {
		v := s.Figures["received"]
		if s.Round != capacityRound || v <= 0 {
			continue
		}
		found := Capacity{s.Span, s.Wire, s.Size, s.Mode, v}
		i := slices.IndexFunc(all, func(c Capacity) bool { return c.group() == found.group() })
		switch {
		case i < 0:
			all = append(all, found)
		case v < all[i].PerSecond:
			all[i] = found
		}
	}
	slices.SortFunc(all, func(a, b Capacity) int {
		return cmp.Or(cmp.Compare(a.Span, b.Span), cmp.Compare(a.Wire, b.Wire), cmp.Compare(a.Size, b.Size))
	})
	return all
}

// group identifies a capacity without its value.
func (c Capacity) group() Cell { return Cell{Span: c.Span, Wire: c.Wire, Size: c.Size} }

// load is the load of a cell in messages per second; 0 if the capacity is not known.
func (m Matrix) load(c Cell, known []Capacity) int {
	u, ok := m.probe(c).(UnderLoad)
	if !ok || u.Percent == 0 {
		return m.Load
	}
	for _, k := range known {
		if k.group() == (Cell{Span: c.Span, Wire: c.Wire, Size: c.Size}) {
			return int(k.PerSecond * float64(u.Percent) / 100)
		}
	}
	return 0
}

// findCapacities runs the capacity round, unless the journal has its result: a run that is
// continued uses the loads of its first part.
func (r *runner) findCapacities(ctx context.Context) error {
	if r.journal.capacities != nil || !r.m.needsCapacity() {
		r.capacities = r.journal.capacities
		return nil
	}
	if err := r.round(ctx, capacityRound, r.m.capacityCells()); err != nil {
		return err
	}
	r.capacities = capacities(r.all)
	return r.journal.writeCapacities(r.capacities)
}
