package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

const (
	apiVersion = "heddle/v1"
	reportKind = "BenchReport"
)

// Report is the outcome of a run, with every raw sample.
type Report struct {
	APIVersion  string       `json:"apiVersion"`
	Kind        string       `json:"kind"`
	Method      Method       `json:"method"`
	Environment Environment  `json:"environment"`
	Columns     []ColumnInfo `json:"columns"`
	Probes      []ProbeInfo  `json:"probes"`
	Cells       []CellResult `json:"cells"`
	// Goals are the goals of the preset.
	Goals   []GoalResult `json:"goals,omitempty"`
	Samples []Sample     `json:"samples"`
}

// Method says how the figures were taken.
type Method struct {
	// Preset names the run's preset.
	Preset string `json:"preset,omitempty"`
	// Wire says what a measurement within a single kernel cannot show.
	Wire              string  `json:"wire"`
	Placement         string  `json:"placement"`
	ClientCPU         int     `json:"clientCPU"`
	ServerCPU         int     `json:"serverCPU"`
	CongestionControl string  `json:"congestionControl"`
	Rounds            int     `json:"rounds"`
	WarmupRounds      int     `json:"warmupRounds"`
	Seconds           float64 `json:"seconds"`
	WarmupSeconds     float64 `json:"warmupSeconds"`
	Load              int     `json:"loadPerSecond"`
	Seed              uint64  `json:"seed"`
	Fingerprint       string  `json:"fingerprint"`
	// Clients is the number of connections of a pair's wrk or redis-benchmark.
	Clients int `json:"clients"`
	// Wires are the wires between the hosts. Capacities are the rates of which the partial loads
	// are parts.
	Wires      []Wire     `json:"wires,omitempty"`
	Capacities []Capacity `json:"capacities,omitempty"`
	// Machine is what kind of virtual machines the figures are from, if they are.
	Machine string `json:"machine,omitempty"`
	// LeftOut names the probes and modes that were left out, and why.
	LeftOut []string `json:"leftOut,omitempty"`
}

const oneKernel = "one kernel, no NIC"

// methodWire describes the plain wire, if there is no other.
func methodWire(wires []Wire) string {
	for _, w := range wires {
		if w.Name != "" {
			return oneKernel + "; what the wires do is said below"
		}
	}
	return oneKernel + ": a veth neither cuts segments (GSO) nor loses or delays packets"
}

// ColumnInfo is a column without its endpoints.
type ColumnInfo struct {
	Mode  string            `json:"mode"`
	Span  string            `json:"span"`
	Wire  string            `json:"wire,omitempty"`
	Notes map[string]string `json:"notes,omitempty"`
}

// ProbeInfo is a probe's name and its figures, the headline first.
type ProbeInfo struct {
	Name    string   `json:"name"`
	Figures []Figure `json:"figures"`
}

// CellResult sums up the counted rounds of a cell. A ratio above 1 is worse if lower values of the
// figure are better.
type CellResult struct {
	Cell
	Figures map[string]Stat `json:"figures"`
	// RatioHost and RatioBridge are the ratios to the host and the bridge column of the same span,
	// by figure.
	RatioHost   map[string]Ratio `json:"ratioHost,omitempty"`
	RatioBridge map[string]Ratio `json:"ratioBridge,omitempty"`
	// CPU has the median over the rounds of each part.
	CPU CPU `json:"cpu"`
	// Unstable is set if the headline's coefficient of variation exceeds 0.15.
	Unstable bool `json:"unstable,omitempty"`
	// Emulated is set if the processor was emulated: the figures say nothing about speed.
	Emulated bool `json:"emulated,omitempty"`
	// Failures of single rounds, in the tools' own words.
	Failures []string `json:"failures,omitempty"`
}

// emulated reports whether the processor was: then no ratio of speeds is held against others.
func (r *Report) emulated() bool {
	return slices.ContainsFunc(r.Cells, func(c CellResult) bool { return c.Emulated })
}

func newReport(m Matrix, pins cores, env Environment, samples []Sample, known []Capacity) *Report {
	if m.Machine == "" {
		env.Steal = meanSteal(samples, env.Cores)
	}
	r := &Report{APIVersion: apiVersion, Kind: reportKind, Environment: env, Samples: samples, Method: Method{
		Wire: methodWire(m.Wires), Placement: m.Placement, ClientCPU: pins.client, ServerCPU: pins.server,
		CongestionControl: m.CongestionControl, Rounds: m.Rounds, WarmupRounds: m.WarmupRounds, Load: m.Load,
		Seconds: m.Duration.Seconds(), WarmupSeconds: m.Warmup.Seconds(), Seed: m.Seed, Fingerprint: m.fingerprint(),
		Preset: m.Preset, Clients: m.Clients, Wires: m.Wires, Capacities: known, LeftOut: m.leftOut(), Machine: m.Machine,
	}}
	for _, c := range m.Columns {
		r.Columns = append(r.Columns, ColumnInfo{c.Mode, c.Span, c.Wire, c.Notes})
	}
	for _, p := range m.Probes {
		r.Probes = append(r.Probes, ProbeInfo{p.Name(), m.figures(p)})
	}
	values := collect(samples)
	for _, c := range m.cells() {
		result := r.result(c, values, m.Seed)
		result.Emulated = m.Emulated
		r.Cells = append(r.Cells, result)
	}
	r.Goals = r.goals(values)
	return r
}

// readings are the readings of one cell, by figure and round.
type readings map[string]map[int]float64

func collect(samples []Sample) map[Cell]readings {
	all := map[Cell]readings{}
	for _, s := range samples {
		if s.Warmup {
			continue
		}
		if all[s.Cell] == nil {
			all[s.Cell] = readings{}
		}
		for name, v := range s.Figures {
			if all[s.Cell][name] == nil {
				all[s.Cell][name] = map[int]float64{}
			}
			all[s.Cell][name][s.Round] = v
		}
	}
	return all
}

func (r *Report) result(c Cell, all map[Cell]readings, seed uint64) CellResult {
	out := CellResult{Cell: c, Figures: map[string]Stat{}, RatioHost: map[string]Ratio{}, RatioBridge: map[string]Ratio{}}
	for name, v := range all[c] {
		out.Figures[name] = Summarise(slices.Collect(maps.Values(v)))
		for mode, ratios := range map[string]map[string]Ratio{Control: out.RatioHost, Reference: out.RatioBridge} {
			other := c
			other.Mode = mode
			if ratio, ok := PairedRatio(v, all[other][name], seed); ok && mode != c.Mode {
				ratios[name] = ratio
			}
		}
	}
	out.Unstable = out.Figures[r.headline(c).Name].CV > Unstable
	out.CPU, out.Failures = r.cpu(c), r.failures(c)
	return out
}

func (r *Report) headline(c Cell) Figure { return r.figures(c)[0] }

func (r *Report) figures(c Cell) []Figure {
	i := slices.IndexFunc(r.Probes, func(p ProbeInfo) bool { return p.Name == c.Probe })
	if i < 0 || len(r.Probes[i].Figures) == 0 {
		return []Figure{{Name: "unknown"}}
	}
	return r.Probes[i].Figures
}

func (r *Report) cpu(c Cell) CPU {
	var parts [5][]float64
	for _, s := range r.Samples {
		if s.Cell == c && !s.Warmup && s.Error == "" {
			for i, v := range []float64{s.CPU.User, s.CPU.System, s.CPU.SoftIRQ, s.CPU.Steal, s.CPU.Percent} {
				parts[i] = append(parts[i], v)
			}
		}
	}
	if parts[0] == nil {
		return CPU{}
	}
	return CPU{Median(parts[0]), Median(parts[1]), Median(parts[2]), Median(parts[3]), Median(parts[4])}
}

// failures come from counted rounds and from the warm-up: both are problems.
func (r *Report) failures(c Cell) []string {
	var all []string
	for _, s := range r.Samples {
		if s.Cell == c && s.Error != "" {
			all = append(all, roundName(s.Round)+": "+s.Error)
		}
	}
	return all
}

// failed returns an error of kind Partial that names the cells with failures.
func (r *Report) failed() error {
	var names []string
	for _, c := range r.Cells {
		if len(c.Failures) > 0 {
			names = append(names, c.Cell.String())
		}
	}
	if names == nil {
		return nil
	}
	cause := fmt.Sprintf("%d of %d cells have failures: %s", len(names), len(r.Cells), strings.Join(names, ", "))
	return &heddle.Error{Code: heddle.BenchFailed, Kind: heddle.Partial, Op: "run bench", Cause: cause, Remedy: "see the report for the reasons; --resume tries them again"}
}
