package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Processors reads what the kernels of virtual machines account, one text for each machine: that
// of /proc/stat, and a line "uptime" with the numbers of /proc/uptime (proc(5)).
type Processors func(context.Context) ([]string, error)

// machineWindow is the measured part of a run in virtual machines, by their own clocks.
type machineWindow struct {
	read   func() ([]string, error)
	before []string
	// busy is how long the machines were not idle, added up. It is more exact than the parts of CPU:
	// the kernel samples those, and measures idle time (get_cpu_idle_time_us).
	busy float64
	err  error
}

// newWindow returns the window of a run in the column.
func (c Column) newWindow(ctx context.Context) (w Window) {
	if c.Processors != nil {
		w.machines.read = func() ([]string, error) { return c.Processors(ctx) }
	}
	return w
}

// ofMachines reports whether the window is of virtual machines.
func (w *Window) ofMachines() bool { return w.machines.read != nil }

func (w *machineWindow) open() {
	if w.read != nil {
		w.before, w.err = w.read()
	}
}

// close returns the longest time that has passed in a machine, and what all machines used.
func (w *machineWindow) close() (seconds float64, used CPU) {
	after, err := w.read()
	if w.err = errors.Join(w.err, err); w.err != nil {
		return 0, CPU{}
	}
	if len(after) != len(w.before) {
		w.err = fmt.Errorf("%d machines, and %d at the start", len(after), len(w.before))
		return 0, CPU{}
	}
	w.busy = 0
	start, end := make([]float64, statFields), make([]float64, statFields)
	for i, text := range after {
		a, err := parseAccount(w.before[i])
		b, also := parseAccount(text)
		if w.err = cmp.Or(err, also); w.err != nil {
			return 0, CPU{}
		}
		seconds, w.busy = max(seconds, b.up-a.up), w.busy+max(0, b.busy()-a.busy())
		for f := range statFields {
			start[f], end[f] = start[f]+a.cpu[f], end[f]+b.cpu[f]
		}
	}
	return seconds, cpuBetween(start, end)
}

// account is what the kernel of a machine with one processor has accounted since it booted.
type account struct {
	up  float64
	cpu []float64 // see parseStat
}

// busy is how long the processor was not idle. It is idle, too, while somebody waits for a file.
func (a account) busy() float64 { return a.up - a.cpu[statIdle] - a.cpu[statIOWait] }

func parseAccount(text string) (a account, err error) {
	if a.cpu = parseStat(text, "cpu"); a.cpu == nil {
		return a, errors.New("a machine does not say its CPU time")
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "uptime" {
			continue
		}
		if a.up, err = strconv.ParseFloat(f[1], 64); err != nil {
			return a, fmt.Errorf("a machine's uptime is %q", strings.TrimSpace(line))
		}
		return a, nil
	}
	return a, errors.New("a machine does not say its uptime")
}

// instructionsName is the figure of a run in machines whose clocks count instructions: what all of
// them executed in the window, divided by what was handled.
const instructionsName = "instructions"

// instructions returns the figure; ok is false if nothing was handled, or the clock counted nothing.
func (w *Window) instructions(each time.Duration) (v float64, ok bool) {
	if each <= 0 || w.Handled <= 0 || w.machines.busy <= 0 {
		return 0, false
	}
	return w.machines.busy / each.Seconds() / w.Handled, true
}

// figures of a probe in this matrix. Where instructions are counted, they come with the CPU time.
func (m Matrix) figures(p Probe) (all []Figure) {
	for _, f := range p.Figures() {
		all = append(all, f)
		if _, of, is := strings.Cut(f.Unit, " per "); is && f.Name == costName && m.InstructionTime > 0 {
			all = append(all, Figure{instructionsName, "per " + of, LowerIsBetter})
		}
	}
	return all
}
