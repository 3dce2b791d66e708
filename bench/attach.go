package bench

import (
	"context"
	"errors"
	"time"
)

// Attach attaches one more container to a column's network and detaches it again, as long
// as a run lasts. Only the time of attaching counts.
type Attach struct{}

// leastAttaches is the least number of attaches in a run, however short.
const leastAttaches = 5

func (Attach) Name() string                        { return "attach" }
func (Attach) Tools() []Tool                       { return nil }
func (Attach) Sizes(Matrix) []int                  { return nil }
func (Attach) Cost(m Matrix, _ Cell) time.Duration { return m.Duration + 200*time.Millisecond }
func (Attach) Figures() []Figure {
	return []Figure{{"took", "ms, median until the agent's answer", LowerIsBetter}, {"took-p99", "ms, until the agent's answer", LowerIsBetter}, {"attached", "containers", Informative}}
}

// Prepare has nothing to start.
func (Attach) Prepare(_ context.Context, s Setting) (Session, error) {
	attach := s.Matrix.column(s.Cell).Attach
	if attach == nil {
		return nil, fail("prepare", "probe attach", errors.New("nothing can be attached in "+s.Cell.Mode))
	}
	return attachSession{attach, s.Matrix.Duration}, nil
}

type attachSession struct {
	attach func(context.Context) (time.Duration, error)
	length time.Duration
}

func (attachSession) Close() {}

// Measure attaches one container after the other. The first one is not counted.
func (a attachSession) Measure(ctx context.Context, w *Window) (map[string]float64, error) {
	if _, err := a.attach(ctx); err != nil {
		return nil, err
	}
	w.Open()
	defer w.Close()
	var took []float64
	for start := time.Now(); time.Since(start) < a.length || len(took) < leastAttaches; {
		d, err := a.attach(ctx)
		if err != nil {
			return nil, err
		}
		took = append(took, d.Seconds()*1000)
	}
	took = sorted(took)
	return map[string]float64{"took": quantile(took, 0.5), "took-p99": quantile(took, 0.99), "attached": float64(len(took))}, nil
}
