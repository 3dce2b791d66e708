package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// says is what a machine says: seconds of user, system, softirq, steal, its uptime, and idle time without and with somebody who waits for a file.
func says(user, system, softirq, steal, up, idle, wait float64) string {
	return fmt.Sprintf("cpu  %.0f 0 %.0f %.0f %.0f 0 %.0f %.0f 0 0\ncpu0 0 0 0 0 0 0 0 0\nuptime %.2f %.2f\n", 100*user, 100*system, 100*idle, 100*wait, 100*softirq, 100*steal, up, idle)
}

// TestMachinesWindow reads two machines, whose clocks do not go alike.
func TestMachinesWindow(t *testing.T) {
	readings := [][]string{{says(1, 1, 1, 0, 10, 7, 0), says(5, 5, 5, 0, 20, 5, 1)}, {says(2, 1.5, 1.25, 0.25, 13, 8, 0), says(5, 7, 6, 0, 24, 5.25, 1.75)}}
	w := Column{Processors: func(context.Context) ([]string, error) {
		defer func() { readings = readings[1:] }()
		return readings[0], nil
	}}.newWindow(t.Context())
	w.Open()
	w.Close()
	if w.machines.err != nil {
		t.Fatal(w.machines.err)
	}
	near(t, "the longest time", w.Seconds, 4)
	near(t, "user", w.CPU.User, 1)
	near(t, "system", w.CPU.System, 2.5)
	near(t, "softirq", w.CPU.SoftIRQ, 1.25)
	near(t, "steal", w.CPU.Steal, 0.25)
	near(t, "percent", w.CPU.Percent, 100*5/7.0)
	w.Handled = 1000
	// Not idle were 3 - 1 and 4 - 1 seconds.
	v, ok := w.instructions(10 * time.Nanosecond)
	if near(t, "instructions", v, 5/10e-9/1000); !ok {
		t.Error("not counted")
	}
	if _, ok := w.instructions(0); ok {
		t.Error("counted by a clock of time")
	}
	if w.Handled = 0; ok {
		if _, ok := w.instructions(10 * time.Nanosecond); ok {
			t.Error("divided by nothing")
		}
	}
}

func TestMachinesWindowRefuses(t *testing.T) {
	good := says(1, 1, 1, 1, 10, 6, 0)
	for name, x := range map[string]struct {
		before, after []string
		err           error
		want          string
	}{
		"no uptime":      {[]string{good}, []string{"cpu  1 2 3 4 5 6 7 8\n"}, nil, "does not say its uptime"},
		"uptime of word": {[]string{"cpu  1 2 3 4 5 6 7 8\nuptime x y\n"}, []string{good}, nil, `"uptime x y"`},
		"no CPU time":    {[]string{good}, []string{"uptime 1 1\n"}, nil, "does not say its CPU time"},
		"one machine":    {[]string{good, good}, []string{good}, nil, "1 machines, and 2"},
		"away":           {[]string{good}, nil, errors.New("the machine is off"), "is off"},
	} {
		texts := [][]string{x.before, x.after}
		w := Column{Processors: func(context.Context) ([]string, error) {
			defer func() { texts = texts[1:] }()
			if len(texts) == 1 {
				return texts[0], x.err
			}
			return texts[0], nil
		}}.newWindow(t.Context())
		w.Open()
		w.Close()
		if err := w.machines.err; err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// countingProbe handles a hundred things in each run.
type countingProbe struct{ *fakeProbe }

func (countingProbe) Figures() []Figure {
	return []Figure{{"speed", "m/s", HigherIsBetter}, cost("thing")}
}

func (p countingProbe) Prepare(ctx context.Context, s Setting) (Session, error) {
	inner, err := p.fakeProbe.Prepare(ctx, s)
	return countingSession{inner}, err
}

type countingSession struct{ Session }

func (s countingSession) Measure(ctx context.Context, w *Window) (map[string]float64, error) {
	w.Handled = 100
	return s.Session.Measure(ctx, w)
}

// TestInstructionsInReport has a run of machines whose clocks count instructions, and one that the machines do not answer.
func TestInstructionsInReport(t *testing.T) {
	m, probe := fakeMatrix()
	m.Probes = []Probe{countingProbe{probe}}
	m.Machine, m.Emulated, m.InstructionTime = "emulated", true, 16*time.Nanosecond
	read := func(p Processors) {
		for i := range m.Columns {
			m.Columns[i].Processors = p
		}
	}
	up := 0.0
	read(func(context.Context) ([]string, error) {
		up++
		return []string{says(up/4, up/4, 0, up/8, up, up/2, 0)}, nil
	})
	report, err := Run(t.Context(), m, Options{Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Cells {
		near(t, c.String(), c.Figures[instructionsName].Median, 0.5/16e-9/100)
		near(t, c.String()+" cost", c.Figures[costName].Median, 0.5e6/100)
		if !c.Emulated {
			t.Errorf("%s does not say that it is emulated", c)
		}
	}
	if words := newView(report).steal(); words != "" || report.Environment.Steal != 0 {
		t.Errorf("what their hypervisor took from the machines is said of this one: %s, %v", words, report.Environment.Steal)
	}
	var text strings.Builder
	if err := report.Text(&text); err != nil || !strings.Contains(text.String(), "per thing") || !strings.Contains(text.String(), "no speed") {
		t.Errorf("%v in\n%s", err, text.String())
	}
	for i, want := range []string{"speed in m/s", "cost in µs of CPU per thing", "instructions per thing"} {
		if got := captionOf(report.Probes[0].Figures[i]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if limits, err := ParseLimits("instructions{mode=bridge} > 1"); err != nil || report.Check(limits) == nil {
		t.Errorf("no limit on instructions: %v", err)
	}
	read(func(context.Context) ([]string, error) { return nil, errors.New("the machine is off") })
	if report, err = Run(t.Context(), m, Options{Out: t.TempDir()}); err == nil || !strings.Contains(report.Samples[0].Error, "the machine is off") {
		t.Errorf("machines that do not answer: %v", err)
	}
}
