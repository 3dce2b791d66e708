package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// CPU is the CPU time that the whole machine used during a measurement, in seconds (the kernel
// counts in steps of 10 ms) and in percent. Of virtual machines it is what their kernels account,
// added up, and not what runs them.
type CPU struct {
	User    float64 `json:"user"`
	System  float64 `json:"system"`
	SoftIRQ float64 `json:"softirq"` // with hardware interrupts
	Steal   float64 `json:"steal"`
	// Percent of all cores' time that was not idle.
	Percent float64 `json:"percent"`
}

// Window is the measured part of a run.
type Window struct {
	// Seconds is its length.
	Seconds float64
	CPU     CPU
	// Handled counts what was handled in the window: packets, transactions, MB.
	Handled float64

	opened        time.Time
	before, after string
	// machines are those that are measured, if not this one.
	machines machineWindow
}

// Open begins the window.
func (w *Window) Open() {
	w.machines.open()
	w.before, w.opened = readStat(), time.Now()
}

// Close ends it.
func (w *Window) Close() {
	w.Seconds = time.Since(w.opened).Seconds()
	w.after = readStat()
	w.CPU = w.spentBy("cpu")
	if w.ofMachines() {
		w.Seconds, w.CPU = w.machines.close()
	}
}

// spentBy returns the CPU time in a line of /proc/stat: "cpu" is all CPUs, "cpu0" the first.
func (w *Window) spentBy(line string) CPU {
	return cpuBetween(parseStat(w.before, line), parseStat(w.after, line))
}

// handledIn moves the count from a reading to the window.
func (w *Window) handledIn(reading map[string]float64) map[string]float64 {
	w.Handled = reading[handled]
	delete(reading, handled)
	return reading
}

// cost returns the CPU time for each thing handled, in µs; ok is false if the kernel's counters
// did not change.
func (w *Window) cost() (v float64, ok bool) {
	used := w.CPU.User + w.CPU.System + w.CPU.SoftIRQ
	return used * 1e6 / w.Handled, used > 0 && w.Handled > 0
}

func readStat() string {
	text, _ := os.ReadFile("/proc/stat") // if the file cannot be read, the CPU time is 0
	return string(text)
}

// What parseStat returns, and where idle time is in it: while nobody waits for a file, and while somebody does.
const (
	statFields = 8
	statIdle   = 3
	statIOWait = 4
)

// parseStat reads a line of /proc/stat: user nice system idle iowait irq softirq
// steal, in hundredths of a second.
func parseStat(text, name string) []float64 {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 9 || f[0] != name {
			continue
		}
		all := make([]float64, statFields)
		for i := range all {
			v, err := strconv.ParseUint(f[i+1], 10, 64)
			if err != nil {
				return nil
			}
			all[i] = float64(v) / 100
		}
		return all
	}
	return nil
}

func cpuBetween(a, b []float64) CPU {
	if a == nil || b == nil {
		return CPU{}
	}
	d, total := make([]float64, statFields), 0.0
	for i := range d {
		d[i] = max(0, b[i]-a[i])
		total += d[i]
	}
	c := CPU{User: d[0] + d[1], System: d[2], SoftIRQ: d[5] + d[6], Steal: d[7]}
	if total > 0 {
		c.Percent = 100 * (total - d[statIdle] - d[statIOWait]) / total
	}
	return c
}

// cores are the CPUs that clients and servers are pinned to.
type cores struct{ client, server int }

// chooseCores takes the first CPUs that this process may use. On a machine with one CPU, both are
// the same.
func chooseCores(m Matrix) (cores, error) {
	if m.Machine != "" {
		return cores{}, nil
	}
	placement := m.Placement
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return cores{}, fail("read", "CPU affinity", err)
	}
	var usable []int
	for i := 0; len(usable) < 2 && i < 8*len(set)*8; i++ {
		if set.IsSet(i) {
			usable = append(usable, i)
		}
	}
	if placement == SameCore {
		return cores{usable[0], usable[0]}, nil
	}
	if len(usable) < 2 {
		return cores{}, heddle.Errorf(heddle.BadArgument, "choose placement", placement,
			fmt.Sprintf("only CPU %d may be used", usable[0]), "choose "+SameCore)
	}
	return cores{usable[0], usable[1]}, nil
}
