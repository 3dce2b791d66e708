package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

func somewhere(ctx context.Context, argv ...string) (*exec.Cmd, error) {
	return exec.CommandContext(ctx, argv[0], argv[1:]...), nil
}

func testColumns(modes ...string) []Column {
	var all []Column
	for _, mode := range modes {
		for _, span := range []string{SameHost, Across} {
			at := Endpoint{Name: mode, Command: somewhere, Addr: netip.MustParseAddr("10.0.0.1")}
			all = append(all, Column{Mode: mode, Span: span, Pairs: []Pair{{Client: at, Server: at, PortBase: 20000}, {Client: at, Server: at, PortBase: 20100}}})
		}
	}
	return all
}

func testMatrix() Matrix {
	return Matrix{
		Columns: testColumns("host", "bridge"), Probes: quickProbes(), Sizes: []int{64, 1024}, PairCounts: []int{1, 2},
		Rounds: 3, Duration: time.Second, Seed: 5,
	}.withDefaults()
}

func TestOrder(t *testing.T) {
	m := testMatrix()
	first, again, second := m.order(0), m.order(0), m.order(1)
	if !slices.Equal(first, again) {
		t.Error("one round has two orders")
	}
	if slices.Equal(first, second) {
		t.Error("two rounds have one order")
	}
	if want := 4 * (2*2*2 + 2*1 + 2*2); len(first) != want {
		t.Errorf("%d cells, want %d", len(first), want)
	}
	seen := map[Cell]bool{}
	for _, c := range first {
		if seen[c] {
			t.Errorf("%s twice", c)
		}
		seen[c] = true
	}
	m.Seed++
	if slices.Equal(first, m.order(0)) {
		t.Error("two seeds have one order")
	}
}

func TestBatchesKeepOrderAndBounds(t *testing.T) {
	m := testMatrix()
	m.Probes = Probes()
	cells := m.order(0)
	var joined []Cell
	for _, batch := range m.batches(cells) {
		memory, ports := 0, map[string]int{}
		for _, c := range batch {
			ports[c.Mode+c.Span] += int(slots(m.probe(c)))
			if p, ok := m.probe(c).(preparedAhead); ok {
				memory += p.memory(m) * c.Pairs
			}
			if ports[c.Mode+c.Span] > PortsPerPair {
				t.Error("too many ports")
			}
		}
		if memory > batchMemory && len(batch) > 1 {
			t.Errorf("a batch of %d MiB", memory)
		}
		joined = append(joined, batch...)
	}
	if !slices.Equal(joined, cells) {
		t.Error("the batches are not the round")
	}
}

func TestValidate(t *testing.T) {
	if err := testMatrix().Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Matrix){
		"control":    func(m *Matrix) { m.Columns = testColumns("bridge") },
		"columns":    func(m *Matrix) { m.Columns = nil },
		"once":       func(m *Matrix) { m.Columns = append(m.Columns, m.Columns[0]) },
		"span":       func(m *Matrix) { m.Columns[0].Span = "far" },
		"2 pairs":    func(m *Matrix) { m.PairCounts = []int{3} },
		"rounds":     func(m *Matrix) { m.Rounds = 0 },
		"duration":   func(m *Matrix) { m.Duration = 1 },
		"placement":  func(m *Matrix) { m.Placement = "anywhere" },
		"size":       func(m *Matrix) { m.Sizes = []int{4} },
		"no ports":   func(m *Matrix) { m.Columns[1].Pairs[0].PortBase = 65530 },
		"no address": func(m *Matrix) { m.Columns[1].Pairs[0].Server.Addr = netip.Addr{} },
	} {
		m := testMatrix()
		change(&m)
		err := m.Validate()
		if !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	m := testMatrix()
	m.Columns, m.NoControl = testColumns("bridge"), true
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
}

func TestPresets(t *testing.T) {
	modes := []string{"host", "bridge", "routed", "macvlan", "ipvlan", "overlay"}
	for n := 1; n <= len(modes); n++ {
		m := Quick(testColumns(modes[:n]...))
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
		if e := Estimate(m); e > quickBudget {
			t.Errorf("%d modes: quick takes %s", n, e)
		} else {
			t.Logf("%d modes: quick: sizes %v, %d rounds of %s: %s", n, m.Sizes, m.Rounds, m.Duration, e)
		}
	}
	for _, p := range Presets() {
		columns := testColumns(p.Modes...)
		m := p.Matrix(columns)
		if err := m.Validate(); err != nil || m.Preset != p.Name || slices.Max(m.PairCounts) > 1 {
			t.Errorf("%s: %v, pairs %v", p.Name, err, m.PairCounts)
		}
		for i := range columns {
			for len(columns[i].Pairs) < p.Pairs {
				columns[i].Pairs = append(columns[i].Pairs, columns[i].Pairs[0])
			}
		}
		if m = p.Matrix(columns); slices.Max(m.PairCounts) != p.Pairs {
			t.Errorf("%s has %v pairs, wants %d", p.Name, m.PairCounts, p.Pairs)
		}
		t.Logf("%s: %d cells, %s", p.Name, len(m.withDefaults().cells()), Estimate(m))
	}
	if _, err := PresetNamed("slow"); !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), "lxc2019") {
		t.Error(err)
	}
	if _, err := ProbesNamed("ping", "pong"); !errors.Is(err, heddle.BadArgument.Sentinel()) {
		t.Error(err)
	}
}

func TestWires(t *testing.T) {
	m := testMatrix()
	for _, c := range testColumns("host", "bridge") {
		if c.Span == Across {
			c.Wire = "cut"
			m.Columns = append(m.Columns, c)
		}
	}
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range m.cells() {
		if x := m.column(c); x.Wire != c.Wire || x.Mode != c.Mode || x.Span != c.Span {
			t.Errorf("%s is in column %s", c, x.name())
		}
	}
	// The ratio is to the yardstick on the same wire.
	samples := []Sample{}
	for _, c := range m.cells() {
		speed := map[string]float64{"host": 40, "host/cut": 10, "bridge": 20, "bridge/cut": 8}[strings.TrimSuffix(c.Mode+"/"+c.Wire, "/")]
		samples = append(samples, Sample{Cell: c, Figures: map[string]float64{m.probe(c).Figures()[0].Name: speed}})
	}
	r := newReport(m, cores{}, Environment{}, samples, nil)
	for _, c := range r.Cells {
		want := map[string]float64{"": 0.5, "cut": 0.8}[c.Wire]
		if ratio := c.RatioHost[r.headline(c.Cell).Name].Median; c.Mode == "bridge" && ratio != want {
			t.Errorf("%s: %v, want %v", c.Cell, ratio, want)
		}
	}
}

// TestPorts: the programs of one batch use different ports, also if all pairs share one server.
func TestPorts(t *testing.T) {
	m := testMatrix()
	m.Probes, m.PairCounts = []Probe{Throughput{}, Netperf{Test: "TCP_RR"}}, []int{2}
	for i := range m.Columns {
		for j := range m.Columns[i].Pairs {
			m.Columns[i].Pairs[j].PortBase, m.Columns[i].Pairs[j].Step = uint16(20000+j), 2
		}
	}
	for _, batch := range m.batches(m.cells()) {
		used, taken := map[string]Cell{}, map[string]uint16{}
		for _, c := range batch {
			column := m.column(c)
			for slot := range slots(m.probe(c)) {
				for _, p := range column.Pairs {
					key := fmt.Sprint(column.name(), p.port(taken[column.name()]+slot))
					if other, twice := used[key]; twice {
						t.Errorf("%s and %s use port %s", other, c, key)
					}
					used[key] = c
				}
			}
			taken[column.name()] += slots(m.probe(c))
		}
	}
}

// TestEmulated: on an emulated processor few programs run at a time, with long time limits.
func TestEmulated(t *testing.T) {
	m := testMatrix()
	real := len(m.batches(m.cells()))
	m.Emulated = true
	all := m.batches(m.cells())
	if len(all) <= real || m.slowness() <= 1 {
		t.Errorf("%d batches, on a real processor %d; %d times as long", len(all), real, m.slowness())
	}
	for _, batch := range all {
		if len(batch) > emulatedBatch {
			t.Errorf("%d cells wait at the same time", len(batch))
		}
	}
}
