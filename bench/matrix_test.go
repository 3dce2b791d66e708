package bench

import (
	"context"
	"errors"
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
			at := Place{Name: mode, Command: somewhere, Addr: netip.MustParseAddr("10.0.0.1")}
			all = append(all, Column{Mode: mode, Span: span, Pairs: []Pair{{at, at, 20000}, {at, at, 20100}}})
		}
	}
	return all
}

func testMatrix() Matrix {
	return Matrix{
		Columns: testColumns("host", "bridge"), Probes: Probes(), Sizes: []int{64, 1024}, PairCounts: []int{1, 2},
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
	if want := 4 * (3*2*2 + 2*2); len(first) != want {
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
	cells := m.order(0)
	var joined []Cell
	for _, batch := range m.batches(cells) {
		memory, ports := 0, map[string]int{}
		for _, c := range batch {
			ports[c.Mode+c.Span]++
			if p, ok := m.probe(c).(parker); ok {
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
	full := Full(testColumns(modes...))
	if err := full.Validate(); err != nil || len(full.PairCounts) != 1 {
		t.Errorf("full: %v, pairs %v", err, full.PairCounts)
	}
	if _, err := Preset("slow", nil); !errors.Is(err, heddle.BadArgument.Sentinel()) {
		t.Error(err)
	}
	if _, err := ProbesNamed("ping", "pong"); !errors.Is(err, heddle.BadArgument.Sentinel()) {
		t.Error(err)
	}
}
