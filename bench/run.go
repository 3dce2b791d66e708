package bench

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
)

// Options of a run.
type Options struct {
	// Out is the folder for samples.jsonl, report.json and its other forms.
	Out string
	// Resume continues an interrupted run in Out.
	Resume bool
	// Progress is where progress goes, usually stderr; nil for nowhere. A
	// terminal shows a live table.
	Progress io.Writer
}

// Run measures the matrix. If cells failed, the report is complete except for them, and the error
// is of kind heddle.Partial. If the context ends, the samples stay in Out for Resume.
func Run(ctx context.Context, m Matrix, o Options) (*Report, error) {
	m = m.withDefaults()
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if err := CheckTools(m.Probes); err != nil {
		return nil, err
	}
	pins, err := chooseCores(m)
	if err != nil {
		return nil, err
	}
	j, err := openJournal(o.Out, m, o.Resume)
	if err != nil {
		return nil, err
	}
	defer j.close()
	r := &runner{m: m, journal: j, cores: pins, spawn: newSpawner(), all: j.old}
	defer r.spawn.close()
	env := readEnvironment(ctx, m)
	r.progress = startProgress(o.Progress, m, j)
	if err = r.findCapacities(ctx); err == nil {
		err = r.rounds(ctx)
	}
	r.progress.stop()
	if err != nil {
		return nil, err
	}
	report := newReport(m, pins, env, r.all, r.capacities)
	if err := report.WriteAll(o.Out); err != nil {
		return nil, err
	}
	return report, report.failed()
}

type runner struct {
	m        Matrix
	journal  *journal
	cores    cores
	spawn    *spawner
	progress *progress
	all      []Sample
	// capacities are known after their round.
	capacities []Capacity
}

func (r *runner) rounds(ctx context.Context) error {
	for round := range r.m.WarmupRounds + r.m.Rounds {
		if err := r.round(ctx, round, r.m.order(round)); err != nil {
			return err
		}
	}
	return nil
}

// round runs the cells that are not done.
func (r *runner) round(ctx context.Context, number int, cells []Cell) error {
	for _, batch := range r.m.batches(r.journal.left(cells, number)) {
		if err := r.batch(ctx, number, batch); err != nil {
			return err
		}
	}
	return nil
}

// prepared is a cell whose programs wait, or the reason why they do not.
type prepared struct {
	session Session
	err     error
}

// batch prepares all its cells at once, and then runs one after the other.
func (r *runner) batch(ctx context.Context, round int, cells []Cell) error {
	r.progress.say(fmt.Sprintf("%s: preparing %d runs", roundName(round), len(cells)))
	ready := r.prepare(ctx, cells)
	defer func() {
		for _, p := range ready {
			if p.session != nil {
				p.session.Close()
			}
		}
	}()
	for i, c := range cells {
		if ctx.Err() != nil {
			return interrupted(ctx)
		}
		r.progress.begin(c, round)
		s := r.measure(ctx, ready[i], Sample{Cell: c, Round: round, Warmup: round < r.m.WarmupRounds, Start: time.Now().UTC()})
		if ctx.Err() != nil {
			return interrupted(ctx)
		}
		r.all = append(r.all, s)
		if err := r.journal.write(s); err != nil {
			return err
		}
		r.progress.end(s)
	}
	return nil
}

func interrupted(ctx context.Context) error {
	return heddle.Wrap(heddle.BenchFailed, "run bench", "", context.Cause(ctx), "go on with it by --resume")
}

func (r *runner) prepare(ctx context.Context, cells []Cell) []prepared {
	ready := make([]prepared, len(cells))
	taken := map[string]uint16{}
	var wait sync.WaitGroup
	for i, c := range cells {
		column := r.m.column(c)
		s := Setting{Matrix: r.m, Cell: c, Pairs: column.Pairs[:c.Pairs], Slot: taken[column.name()], Load: r.m.load(c, r.capacities),
			cores: r.cores, spawn: r.spawn, runContext: ctx}
		taken[column.name()] += slots(r.m.probe(c))
		wait.Go(func() {
			limit, cancel := context.WithTimeout(ctx, r.patience(cells))
			defer cancel()
			ready[i].session, ready[i].err = r.m.probe(c).Prepare(limit, s)
		})
	}
	wait.Wait()
	return ready
}

// patience limits the preparation. It is generous: a program seldom hangs, but a machine is
// often busy.
func (r *runner) patience(cells []Cell) time.Duration {
	return r.m.slowness() * (3*r.m.prepareCost(cells) + 10*time.Second)
}

func (r *runner) measure(ctx context.Context, p prepared, s Sample) Sample {
	if p.err != nil {
		s.Error = p.err.Error()
		return s
	}
	defer p.session.Close()
	limit, cancel := context.WithTimeout(ctx, r.m.slowness()*(2*r.m.probe(s.Cell).Cost(r.m, s.Cell)+10*time.Second))
	defer cancel()
	w := r.m.column(s.Cell).newWindow(limit)
	figures, err := p.session.Measure(limit, &w)
	if err != nil {
		s.Error = err.Error()
		return s
	}
	if err := w.machines.err; err != nil {
		s.Error = fail("read", "the machines' processors", err).Error()
		return s
	}
	if v, ok := w.cost(); ok {
		figures[costName] = v
	}
	if v, ok := w.instructions(r.m.InstructionTime); ok {
		figures[instructionsName] = v
	}
	s.Figures, s.Seconds, s.CPU = figures, w.Seconds, w.CPU
	return s
}

func roundName(round int) string {
	if round == capacityRound {
		return "capacity"
	}
	return fmt.Sprintf("round %d", round+1)
}
