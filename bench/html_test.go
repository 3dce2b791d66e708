package bench

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var pages = flag.String("pages", "", "a folder to write the pages of invented reports to, to look at")

// stress is the size of an invented report.
type stress struct {
	modes, wires  []string
	sizes, pairs  []int
	rounds        int
	preset        string
	broken, noted bool
	probes        []Probe
}

// hostile is a text that a column's note, a mode's name or a tool's output may contain.
const hostile = `<script src="https://example.com/x.js">alert(1)</script>"'&<img src=x onerror=alert(1)> </style></script>` +
	" \x1b[2J\x1b[31m\u009b31m\x7f\nhost9 alive\r \u202egnp.exe\u2066\u200b\ufeff\x07"

// report makes one up: every mode is a fixed part slower than the one before,
// with noise, and every reading comes from the seed.
func (s stress) report() *Report {
	m := s.matrix()
	if s.noted {
		m.Columns[1].Notes = map[string]string{"way": hostile, "mtu": "1500"}
	}
	env := Environment{
		Start: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Kernel: "6.18.0", CPU: "Some CPU 9999 @ 3.00GHz", Cores: 2, Load: "0.10 0.20 0.30",
		BridgeNF: "0", Tools: map[string]string{"sockperf": "3.7", "iperf3": "3.12", "ping": "20221126"}, Command: "heddle bench --modes host,bridge",
		Paths: map[string]Path{"bridge/same-host": {"eth0", 1500, "TSO, GSO, GRO"}},
	}
	r := rand.New(rand.NewPCG(7, 7))
	var samples []Sample
	for _, wire := range s.wires {
		for round := range s.rounds {
			for _, c := range m.cells() {
				if c.Wire = wire; wire != "" && c.Span == SameHost {
					continue
				}
				samples = append(samples, s.sample(r, c, round))
			}
		}
	}
	return s.assemble(m, env, samples)
}

func (s stress) matrix() Matrix {
	m := testMatrix()
	m.Preset, m.Columns, m.Probes = s.preset, testColumns(s.modes...), s.probes
	m.Sizes, m.PairCounts, m.Rounds, m.WarmupRounds = s.sizes, s.pairs, s.rounds, 0
	if m.Probes == nil {
		m.Probes = []Probe{Throughput{}, UnderLoad{}, PingPong{}, Iperf3{}, Ping{}}
	}
	return m
}

func (s stress) sample(r *rand.Rand, c Cell, round int) Sample {
	speed := 1.0
	for i, m := range s.modes {
		if m == c.Mode {
			speed = (1 - 0.12*float64(i)) * (1 + 0.2*float64(i%3))
		}
	}
	if c.Span == Across {
		speed *= 0.7
	}
	speed *= (1 + 0.1*r.Float64()) / (1 + float64(c.Size)/20000)
	out := Sample{Cell: c, Round: round, Start: time.Date(2030, 1, 2, 3, 4, round, 0, time.UTC), Seconds: 1, CPU: CPU{User: 0.1 / speed, System: 0.9, SoftIRQ: 0.5 / speed, Percent: 70}}
	if s.broken && c.Mode == s.modes[len(s.modes)-1] && c.Size%3 == 1 {
		out.Error = "read iperf3: Connection refused " + hostile
		return out
	}
	switch c.Probe {
	case "iperf3":
		out.Figures = map[string]float64{"received": 40 * speed, "retransmits": float64(round % 2)}
	case "ping":
		out.Figures = map[string]float64{"rtt-avg": 40 / speed, "rtt-min": 30 / speed, "lost": 0}
	case "wrk", "redis-set":
		out.Figures = map[string]float64{"rate": 9000 * speed, "p50": 90 / speed, "mean": 95 / speed, "p99": 300 / speed, "cost": 70 / speed}
	case "sockperf-throughput":
		out.Figures = map[string]float64{"received": 250000 * speed, "sent": 260000, "lost": 1 / speed, "cost": 5 / speed}
	default:
		tail := 1.0
		if round == 1 && c.Mode == s.modes[1] {
			tail = 9
		}
		out.Figures = map[string]float64{"p50": 15 / speed, "p99": 40 * tail / speed, "p99.9": 200 * tail / speed, "dropped": 0, "observations": 20000}
	}
	return out
}

// assemble is newReport for cells on several wires.
func (s stress) assemble(m Matrix, env Environment, samples []Sample) *Report {
	r := newReport(m, cores{0, 1}, env, samples, nil)
	r.Cells = nil
	values := collect(samples)
	for _, wire := range s.wires {
		for _, c := range m.cells() {
			if c.Wire = wire; wire != "" && c.Span == SameHost {
				continue
			}
			r.Cells = append(r.Cells, r.result(c, values, m.Seed))
		}
	}
	return r
}

// invented are the reports for the tests of the page, made once.
var invented = sync.OnceValue(invent)

func invent() map[string]*Report {
	six := []string{"host", "bridge", "macvlan", "ipvlan", "routed", "a-mode-with-a-very-long-name-indeed-that-goes-on"}
	plainWire := []string{""}
	return map[string]*Report{
		"golden":    goldenReport(),
		"usual":     stress{modes: []string{"host", "bridge", "routed", "macvlan", "direct"}, wires: plainWire, sizes: []int{64, 1024}, pairs: []int{1, 10}, rounds: 10}.report(),
		"hostile":   stress{modes: append(six[:5:5], hostile), wires: []string{"", hostile}, sizes: []int{64}, pairs: []int{1}, rounds: 3, broken: true, noted: true}.report(),
		"one-round": stress{modes: []string{"host", "bridge"}, wires: plainWire, sizes: []int{64}, pairs: []int{1}, rounds: 1, probes: []Probe{Iperf3{}}}.report(),
		"no-host":   stress{modes: []string{"routed", "macvlan"}, wires: plainWire, sizes: []int{64}, pairs: []int{1}, rounds: 2}.report(),
		"all-fail":  stress{modes: []string{"host"}, wires: plainWire, sizes: []int{64}, pairs: []int{1}, rounds: 2, broken: true}.report(),
		"lxc":       stress{modes: []string{"host", "bridge", "macvlan"}, wires: plainWire, sizes: []int{28, 1024}, pairs: []int{1, 10}, rounds: 10, preset: "lxc2019", probes: []Probe{Throughput{}, UnderLoad{Percent: 50}, PingPong{}}}.report(),
		"ecs":       stress{modes: []string{"host", "bridge", "direct"}, wires: plainWire, sizes: []int{14}, pairs: []int{1, 10}, rounds: 6, preset: "ecs-multinic", probes: []Probe{Throughput{}}}.report(),
		"ladder":    stress{modes: []string{"host", "bridge", "direct"}, wires: plainWire, sizes: []int{64}, pairs: []int{1}, rounds: 4, preset: "ladder", probes: []Probe{Throughput{}, Iperf3{}, Wrk{}, Redis{"set"}}}.report(),
		"large": stress{modes: six, wires: []string{"", "segmented", "1 Gbit/s", "10 Gbit/s"}, sizes: []int{14, 64, 256, 1024, 4096, 16384, 32768, 65000}, pairs: []int{1, 10},
			rounds: 5, broken: true}.report(),
	}
}

// render writes a page to memory, and to the folder that -pages names.
func render(t *testing.T, name string, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if *pages != "" {
		if err := os.WriteFile(filepath.Join(*pages, name+".html"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// allPages are the pages of all invented reports, and of comparisons.
func allPages(t *testing.T) map[string]string {
	t.Helper()
	madeOnce.Do(func() { made = makePages(t) })
	return made
}

var (
	madeOnce sync.Once
	made     map[string]string
)

func makePages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	reports := invented()
	for name, r := range reports {
		all[name] = render(t, name, r.HTML)
	}
	for name, pair := range map[string][2]string{"compare-same": {"usual", "usual"}, "compare-hostile": {"hostile", "hostile"}, "compare-modes": {"lxc", "usual"}} {
		all[name] = render(t, name, Compare(reports[pair[0]], reports[pair[1]]).HTML)
	}
	return all
}

func TestGoldenPage(t *testing.T) {
	r := goldenReport()
	got := render(t, "golden", r.HTML)
	again := render(t, "golden", r.HTML)
	if got != again {
		t.Error("the same report makes two different pages")
	}
	// The compression is the library's business.
	got = regexp.MustCompile(`base64,[A-Za-z0-9+/=&#;]+">([a-z.]+)</a> \([^)]*\)`).ReplaceAllString(got, `base64,">$1</a>`)
	if *update {
		if err := os.WriteFile("testdata/report.html", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(fixture(t, "report.html"), got); d != "" {
		t.Error(d)
	}
}

func TestPageSize(t *testing.T) {
	all := allPages(t)
	for name, page := range all {
		t.Log(name, byteText(len(page)))
		if limit := 3 << 20; name != "large" && len(page) > limit {
			t.Errorf("%s: %d bytes", name, len(page))
		}
	}
	if len(all) < 10 {
		t.Error(fmt.Sprint(len(all)))
	}
}
