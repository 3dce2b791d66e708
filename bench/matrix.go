package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// The placements. On one core the rate shows the CPU cost of the path. On two cores, the cost of
// waking the other core is added. A report never mixes them.
const (
	SameCore      = "same-core"
	SeparateCores = "separate-cores"
)

// DefaultCongestionControl is available in all kernels, and never paces.
const DefaultCongestionControl = "reno"

// Matrix says what to measure, and how.
type Matrix struct {
	Columns []Column
	Probes  []Probe
	// Preset names the preset of the matrix; it may be empty.
	Preset string
	// Sizes are the UDP payload sizes in bytes, and Values the sizes of Redis values, for the
	// probes that have sizes.
	Sizes, Values []int
	// Clients is the number of connections of a pair's wrk or redis-benchmark. It is the same in
	// all modes.
	Clients int
	// Choices bind probes to columns.
	Choices []Choice
	// Wires say what the columns' wires are, LeftOut what is not measured and why.
	Wires   []Wire
	LeftOut []string
	// PairCounts are the numbers of pairs that run at the same time.
	PairCounts []int
	// Rounds are measured. WarmupRounds run before them, and are recorded but not counted.
	Rounds, WarmupRounds int
	// Duration is the measured part of one run; iperf3 rounds it up to whole seconds. Warmup is the
	// part that iperf3 omits, rounded up as well; sockperf leaves out its own first 400 ms of a
	// latency run.
	Duration, Warmup time.Duration
	Placement        string
	Seed             uint64
	// CongestionControl is the congestion control of TCP; DefaultCongestionControl if empty. New
	// namespaces may inherit one that paces (BBR), which hides the path's speed. Tools without an
	// option for it use the one of their endpoint's namespace, which the caller sets.
	CongestionControl string
	// Load is the offered load of the latency-under-load probe, in messages
	// per second; 10,000 if zero.
	Load int
	// BridgeNF is the value of bridge-nf-call-iptables for the endpoints, if it differs from the
	// caller's.
	BridgeNF string
	// Machine describes the virtual machines of the endpoints, if there are any: their kernel, and
	// what runs them. Each has one CPU. Emulated is set if the CPU is emulated: then the figures
	// say nothing about speed.
	Machine  string
	Emulated bool
	// InstructionTime is what an instruction takes of the machines' clocks, if these count instructions.
	InstructionTime time.Duration
	// NoControl allows a matrix without a "host" column.
	NoControl bool
}

func (m Matrix) withDefaults() Matrix {
	if m.CongestionControl == "" {
		m.CongestionControl = DefaultCongestionControl
	}
	if m.Placement == "" {
		m.Placement = SeparateCores
	}
	if m.Load == 0 {
		m.Load = 10000
	}
	if len(m.PairCounts) == 0 {
		m.PairCounts = []int{1}
	}
	if len(m.Sizes) == 0 {
		m.Sizes = []int{64}
	}
	if len(m.Values) == 0 {
		m.Values = []int{1 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10}
	}
	if m.Clients == 0 {
		m.Clients = 8
	}
	return m
}

// maxUDP is the longest payload of a datagram over IPv4.
const maxUDP = 65507

// Validate says what is wrong with a matrix before anything runs.
func (m Matrix) Validate() error {
	m = m.withDefaults()
	if err := m.checkSettings(); err != nil {
		return err
	}
	columnRefused := func(c Column, cause, remedy string) error {
		return heddle.Errorf(heddle.BadArgument, "add column", c.name(), cause, remedy)
	}
	seen := map[string]bool{}
	control := false
	for _, c := range m.Columns {
		if err := c.check(); err != nil {
			return err
		}
		if seen[c.name()] {
			return columnRefused(c, "the matrix has it already", "name each column once")
		}
		seen[c.name()] = true
		control = control || c.Mode == Control
		if most := slices.Max(m.PairCounts); most > len(c.Pairs) {
			return columnRefused(c, fmt.Sprintf("it has %d pairs, but %d are asked for", len(c.Pairs), most),
				"ask for fewer pairs")
		}
	}
	switch {
	case len(m.Columns) == 0 || len(m.Probes) == 0:
		return badSetting("matrix", "it has no columns or no probes", "give columns and probes")
	case !control && !m.NoControl:
		return badSetting("matrix", "without a control column figures of different machines cannot be compared",
			"add the mode "+Control)
	case len(m.cells()) == 0:
		return badSetting("matrix", "its probes take one pair only, other sizes, or other numbers of hosts", "add that number of pairs, such sizes, or such hosts")
	}
	return nil
}

func badSetting(object, cause, remedy string) error {
	return heddle.Errorf(heddle.BadArgument, "set", object, cause, remedy)
}

// CheckSettings says what is wrong with the settings, before there are columns.
func (m Matrix) CheckSettings() error { return m.withDefaults().checkSettings() }

func (m Matrix) checkSettings() error {
	bad := badSetting
	switch {
	case m.Rounds < 1 || m.WarmupRounds < 0:
		return bad("rounds", fmt.Sprintf("%d rounds and %d for warm-up cannot be run", m.Rounds, m.WarmupRounds),
			"give at least one round")
	case m.Duration < 200*time.Millisecond || m.Duration > time.Hour:
		return bad("duration", m.Duration.String()+" is too short or too long", "give 0.2 s to 1 h")
	case m.Warmup < 0 || m.Warmup > time.Minute:
		return bad("warm-up", m.Warmup.String()+" is negative or too long", "give 0 to 60 s")
	case m.Placement != SameCore && m.Placement != SeparateCores:
		return bad("placement "+m.Placement, "there is no such placement", "choose "+SameCore+" or "+SeparateCores)
	case slices.Min(m.Sizes) < 14 || slices.Max(m.Sizes) > maxUDP:
		return bad("size", fmt.Sprintf("a message has 14 bytes (sockperf's least) to %d bytes (what fits one datagram)", maxUDP),
			"choose sizes in that range")
	case slices.Min(m.Values) < 1 || slices.Max(m.Values) > 64<<20:
		return bad("value", "a value has 1 byte to 64 MiB", "choose sizes in that range")
	case m.Clients < 1 || m.Clients > 512:
		return bad("clients", fmt.Sprintf("%d is not in the range of 1 to 512 connections", m.Clients),
			"choose a number in that range")
	case slices.Min(m.PairCounts) < 1:
		return bad("pairs", "a number of pairs is smaller than one", "give at least one pair")
	case m.Load < 1:
		return bad("load", fmt.Sprintf("%d messages a second are no load", m.Load), "give at least one message a second")
	}
	return nil
}

func (m Matrix) cells() []Cell {
	var all []Cell
	for _, c := range m.Columns {
		for _, p := range m.Probes {
			if !m.runs(p, c) {
				continue
			}
			sizes := p.Sizes(m)
			if sizes == nil {
				sizes = []int{0}
			}
			for _, size := range sizes {
				for _, pairs := range m.pairCounts(p) {
					all = append(all, Cell{Mode: c.Mode, Span: c.Span, Wire: c.Wire, Probe: p.Name(), Size: size, Pairs: pairs})
				}
			}
		}
	}
	return all
}

// order is the sequence of a round. It depends only on the seed and the round, so that a resumed
// run has the same order as the first one.
func (m Matrix) order(round int) []Cell {
	all := m.cells()
	r := rand.New(rand.NewPCG(m.Seed, uint64(round)))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// roundCells are the cells of a round, in order.
func (m Matrix) roundCells(round int) []Cell {
	if round == capacityRound {
		return m.capacityCells()
	}
	return m.order(round)
}

// fingerprint identifies the settings that must be equal if samples of two runs are mixed. The
// number of rounds does not count: a run may be resumed with more of them.
func (m Matrix) fingerprint() string {
	all := []any{m.cells(), m.Duration, m.Warmup, m.Placement, m.Seed, m.CongestionControl, m.Load, m.WarmupRounds, m.Clients}
	if m.Machine != "" {
		all = append(all, m.Machine)
	}
	sum := sha256.Sum256(must(json.Marshal(all)))
	return hex.EncodeToString(sum[:8])
}

// must is for the encoding of our own plain types, which cannot fail.
func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func (m Matrix) column(c Cell) Column {
	i := slices.IndexFunc(m.Columns, func(x Column) bool { return x.Mode == c.Mode && x.Span == c.Span && x.Wire == c.Wire })
	return m.Columns[i]
}

// probe returns a cell's probe. The capacity round uses one that the matrix may not have.
func (m Matrix) probe(c Cell) Probe {
	for _, p := range m.Probes {
		if p.Name() == c.Probe {
			return p
		}
	}
	return Throughput{}
}
