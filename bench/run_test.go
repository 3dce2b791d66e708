package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// fakeProbe counts its runs and fails where it is told to.
type fakeProbe struct {
	mu   sync.Mutex
	runs map[Cell]int
	fail func(Cell) error
	took time.Duration
}

func (*fakeProbe) Name() string                      { return "fake" }
func (*fakeProbe) Tools() []Tool                     { return []Tool{{"true", "coreutils"}} }
func (*fakeProbe) Sizes(Matrix) []int                { return nil }
func (*fakeProbe) Figures() []Figure                 { return []Figure{{"speed", "m/s", HigherIsBetter}} }
func (p *fakeProbe) Cost(Matrix, Cell) time.Duration { return p.took }
func (p *fakeProbe) Prepare(_ context.Context, s Setting) (Session, error) {
	return fakeSession{p, s.Cell}, nil
}

type fakeSession struct {
	probe *fakeProbe
	cell  Cell
}

func (s fakeSession) Measure(ctx context.Context, w *Window) (map[string]float64, error) {
	s.probe.mu.Lock()
	s.probe.runs[s.cell]++
	s.probe.mu.Unlock()
	w.Open()
	if err := pause(ctx, s.probe.took); err != nil {
		return nil, err
	}
	w.Close()
	if s.probe.fail != nil {
		if err := s.probe.fail(s.cell); err != nil {
			return nil, err
		}
	}
	return map[string]float64{"speed": 10}, nil
}

func (fakeSession) Close() {}

func fakeMatrix() (Matrix, *fakeProbe) {
	p := &fakeProbe{runs: map[Cell]int{}}
	return Matrix{Columns: testColumns("host", "bridge"), Probes: []Probe{p}, Rounds: 2, Duration: time.Second, Placement: SameCore}, p
}

func TestRunAndResume(t *testing.T) {
	out := t.TempDir()
	m, probe := fakeMatrix()
	probe.fail = func(c Cell) error {
		if c.Mode == "bridge" && c.Span == Across {
			return errors.New("no route to host")
		}
		return nil
	}
	var progress bytes.Buffer
	report, err := Run(context.Background(), m, Options{Out: out, Progress: &progress})
	if heddle.KindOf(err) != heddle.Partial || report == nil || len(report.Samples) != 8 {
		t.Fatalf("%v, %+v", err, report)
	}
	if !strings.Contains(progress.String(), "about") || !strings.Contains(progress.String(), "failed: no route") {
		t.Error(progress.String())
	}
	cutLastLine(t, out)
	probe.fail, probe.runs = nil, map[Cell]int{}
	m.Rounds = 3
	report, err = Run(context.Background(), m, Options{Out: out, Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	// Left were a third round of four cells, and both rounds of the failed one.
	runs := 0
	for _, n := range probe.runs {
		runs += n
	}
	if runs != 4+2 || len(report.Samples) != 12 {
		t.Errorf("%d runs, %d samples", runs, len(report.Samples))
	}
	m.Seed++
	if _, err := Run(context.Background(), m, Options{Out: out, Resume: true}); !errors.Is(err, heddle.BadArgument.Sentinel()) {
		t.Errorf("another matrix: %v", err)
	}
	if _, err := Run(context.Background(), m, Options{Out: out}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(out, "samples.old.jsonl")); err != nil {
		t.Error(err)
	}
}

// cutLastLine adds half a line, as a crash leaves it.
func cutLastLine(t *testing.T, out string) {
	f, err := os.OpenFile(filepath.Join(out, "samples.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(`{"mode":"host","ro`)
	_ = f.Close()
}

func TestRunStops(t *testing.T) {
	m, probe := fakeMatrix()
	probe.took = time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := Run(ctx, m, Options{Out: t.TempDir()})
	if heddle.KindOf(err) != heddle.Failed || time.Since(start) > 30*time.Second {
		t.Errorf("%v after %s", err, time.Since(start))
	}
}

func TestProgressIsNeverSilent(t *testing.T) {
	m, probe := fakeMatrix()
	probe.took, m.Rounds, m.Columns = 3*time.Second, 1, m.Columns[:1]
	var b bytes.Buffer
	if _, err := Run(context.Background(), m, Options{Out: t.TempDir(), Progress: &b}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "so far") {
		t.Error(b.String())
	}
}

func TestChild(t *testing.T) {
	s := newSpawner()
	defer s.close()
	at := Endpoint{Name: "here", Command: somewhere}
	spawning, over := context.WithTimeout(context.Background(), time.Minute)
	defer over()
	// The shell's own child is in its group, and ends with it.
	c, err := s.start(spawning, at, "sh", "-c", "echo hello; sleep 1000 & wait")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.says(spawning, "hello"); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := c.wait(ctx); err == nil || !strings.Contains(err.Error(), "time-out") || !strings.Contains(err.Error(), "hello") {
		t.Error(err)
	}
	failing, err := s.start(context.Background(), at, "sh", "-c", "echo oh no; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	if err := failing.wait(context.Background()); err != nil {
		t.Error(err)
	}
	if err := failing.failure(); err == nil || !strings.Contains(err.Error(), "oh no") {
		t.Error(err)
	}
	if _, err := s.start(context.Background(), at, "/nonexistent"); !errors.Is(err, heddle.BenchFailed.Sentinel()) {
		t.Error(err)
	}
}
