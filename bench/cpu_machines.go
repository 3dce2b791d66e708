package bench

import (
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

// newWindow returns the window of a run of the matrix.
func (m Matrix) newWindow(ctx context.Context) (w Window) {
	if m.Processors != nil {
		w.machines.read = func() ([]string, error) { return m.Processors(ctx) }
	}
	return w
}

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
	var start, end []float64
	for i, text := range after {
		up, idle, err := passed(w.before[i], text)
		if w.err = err; err != nil {
			return 0, CPU{}
		}
		seconds, w.busy = max(seconds, up), w.busy+max(0, up-idle)
		start, end = add(start, parseStat(w.before[i], "cpu")), add(end, parseStat(text, "cpu"))
	}
	return seconds, cpuBetween(start, end)
}

func add(sum, more []float64) []float64 {
	if sum == nil {
		return more
	}
	for i, v := range more {
		sum[i] += v
	}
	return sum
}

// passed returns the time that has passed between two readings of a machine with one processor, and
// the part of it in which the processor was idle.
func passed(before, after string) (up, idle float64, err error) {
	a, err := parseUptime(before)
	if err != nil {
		return 0, 0, err
	}
	b, err := parseUptime(after)
	return b[0] - a[0], b[1] - a[1], err
}

func parseUptime(text string) (v [2]float64, err error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "uptime" {
			continue
		}
		for i := range v {
			if v[i], err = strconv.ParseFloat(f[i+1], 64); err != nil {
				return v, fmt.Errorf("a machine's uptime is %q", strings.TrimSpace(line))
			}
		}
		return v, nil
	}
	return v, errors.New("a machine does not say its uptime")
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
