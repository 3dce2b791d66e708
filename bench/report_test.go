package bench

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heddle-network/heddle"
)

var update = flag.Bool("update", false, "write the golden files")

// goldenReport is made of invented samples: a bridge that costs a fifth, a
// macvlan whose iperf3 failed, and one round that was disturbed.
func goldenReport() *Report {
	m := testMatrix()
	m.Columns, m.Probes = testColumns("host", "bridge", "macvlan"), []Probe{Iperf3{}, PingPong{}}
	m.Sizes, m.PairCounts, m.WarmupRounds = []int{64}, []int{1}, 1
	m.Columns[2].Notes = map[string]string{"mtu": "1500"}
	slow := map[string]float64{"host": 1, "bridge": 0.8, "macvlan": 0.9}
	var samples []Sample
	for round := range 4 {
		for _, c := range m.cells() {
			s := Sample{Cell: c, Round: round, Warmup: round == 0, Seconds: 1, CPU: CPU{User: 0.1, System: 1, SoftIRQ: 0.2, Percent: 65}}
			speed := slow[c.Mode] * (1 - 0.02*float64(round))
			switch {
			case c.Probe == "iperf3" && c.Mode == "macvlan":
				s.Error = "read iperf3: Connection refused [HDL-7001]"
			case c.Probe == "iperf3":
				s.Figures = map[string]float64{"received": 40 * speed, "retransmits": 0}
			default:
				s.Figures = map[string]float64{"p50": 10 / speed, "p99": 30 / speed, "p99.9": 90, "dropped": 0, "observations": 10000}
			}
			if round == 3 && c.Probe != "iperf3" && c.Mode == "bridge" && c.Span == Across {
				s.Figures["p50"] *= 3
			}
			samples = append(samples, s)
		}
	}
	env := Environment{
		Start: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Kernel: "6.18.0", CPU: "Some CPU", Cores: 2, Load: "0.10 0.20 0.30",
		BridgeNF: noBridgeNF, Tools: map[string]string{"sockperf": "3.7", "iperf3": "3.12"},
	}
	return newReport(m, cores{0, 1}, env, samples, nil)
}

func TestReportText(t *testing.T) {
	var b bytes.Buffer
	if err := goldenReport().Text(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/report.golden", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(fixture(t, "report.golden"), b.String()); d != "" {
		t.Error(d)
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("colour without a terminal")
	}
	if !strings.Contains(remark(CellResult{Unstable: true}, true), "\x1b[") {
		t.Error("no colour on a terminal")
	}
}

func TestReportCells(t *testing.T) {
	r := goldenReport()
	find := func(mode, span, probe string) CellResult {
		for _, c := range r.Cells {
			if c.Mode == mode && c.Span == span && c.Probe == probe {
				return c
			}
		}
		t.Fatal("no such cell")
		return CellResult{}
	}
	bridge := find("bridge", SameHost, "iperf3")
	near(t, "ratio", bridge.RatioHost["received"].Median, 0.8)
	if s := bridge.Figures["received"]; s.N != 3 || bridge.Unstable {
		t.Errorf("the warm-up was counted, or it is unstable: %+v", s)
	}
	if !find("bridge", Across, "sockperf-pingpong").Unstable {
		t.Error("the disturbed cell is not flagged")
	}
	if f := find("macvlan", SameHost, "iperf3").Failures; len(f) != 4 {
		t.Errorf("failures: %v", f)
	}
	if err := r.failed(); heddle.KindOf(err) != heddle.Partial || !strings.Contains(err.Error(), "macvlan/same-host iperf3") {
		t.Error(err)
	}
}

func TestReportFileAndCompare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	a := goldenReport()
	if err := a.Write(path); err != nil {
		t.Fatal(err)
	}
	b, err := ReadReport(path)
	if err != nil {
		t.Fatal(err)
	}
	c := Compare(a, b)
	for _, x := range c.Cells {
		near(t, x.Cell.String(), x.Ratio, 1)
	}
	if len(c.Warnings) != 0 || len(c.Cells) == 0 {
		t.Errorf("%v, %d cells", c.Warnings, len(c.Cells))
	}
	b.Environment.Kernel, b.Cells = "7.0", b.Cells[1:]
	if c = Compare(a, b); len(c.Warnings) != 2 {
		t.Errorf("warnings: %v", c.Warnings)
	}
	var text bytes.Buffer
	if err := c.Text(&text); err != nil || !strings.Contains(text.String(), "kernel: 6.18.0, then 7.0") {
		t.Errorf("%v:\n%s", err, text.String())
	}
	if _, err := ReadReport("testdata/iperf3.json"); heddle.KindOf(err) != heddle.Usage {
		t.Error(err)
	}
}
