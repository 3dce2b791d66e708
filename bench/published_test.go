package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// The ratios that the sources state in words are compared with those of the data.
func TestPublishedRatios(t *testing.T) {
	for _, c := range []struct {
		preset, what, over string
		of                 string
		want               float64
	}{
		{"lxc2019", "packets/s, same host, 1024 B, 1 pair", "bridge", "macvlan", 1.49},
		{"lxc2019", "packets/s, same host, 1024 B, 10 pairs", "bridge", "macvlan", 1.36},
		{"lxc2019", "packets/s, same host, 28 B, 1 pair", "bridge", "macvlan", 1.50},
		{"lxc2019", "packets/s, same host, 28 B, 10 pairs", "bridge", "macvlan", 1.43},
		{"lxc2019", "packets/s, two hosts, 1024 B, 10 pairs", "bridge", "macvlan", 1.25},
		{"lxc2019", "packets/s, two hosts, 28 B, 10 pairs", "bridge", "macvlan", 1.49},
		{"lxc2019", "packets/s, two hosts, 28 B, 1 pair", "host", "bridge", 0.82},
		{"lxc2019", "packets/s, two hosts, 28 B, 10 pairs", "host", "bridge", 0.66},
		{"lxc2019", "latency, two hosts, 28 B, 10 pairs", "host", "bridge", 1.52},
		{"ecs-multinic", "one thread, Mbit/s", "bridge", "direct", 1.5635},
		{"ecs-multinic", "one thread, packets/s", "bridge", "direct", 1.587},
		{"ecs-multinic", "10 servers and clients, packets/s", "bridge", "direct", 1.6449},
		{"ecs-multinic", "VPC routes, nginx small page", "host", "routed", 0.90},
		{"ecs-multinic", "multi-NIC, application", "host", "direct", 1.10},
		{"ecs-multinic", "Flannel VXLAN, nginx small page", "host", "overlay", 0.70},
		{"ecs-multinic", "set 1 KB, requests/s", "bridge", "direct", 1.296},
		{"ladder", "set 1 KB, requests/s", "bridge", "direct", 1.296},
		{"ladder", "set 1 KB, mean latency", "bridge", "direct", 0.77},
		{"ladder", "Flannel VXLAN, nginx small page", "host", "overlay", 0.70},
		{"weave-fastdp", "tcp_bw, MTU 1410", "host", "overlay", 0.26},
		{"weave-fastdp", "tcp_bw, MTU 8950", "host", "docker-overlay", 0.91},
		{"weave-fastdp", "udp_lat, MTU 1410", "host", "docker-overlay", 1.28},
		{"weave-fastdp", "udp_lat, MTU 8950", "host", "overlay", 1.29},
		{"docker-overlay", "TCP, Gbit/s", "host", "docker-overlay", 0.71},
		{"docker-overlay", "TCP, Gbit/s", "host", "overlay", 0.71},
		{"docker-overlay", "TCP, window", "host", "docker-overlay", 0.596},
	} {
		p, ok := PublishedFigures(c.preset)
		found := false
		for _, r := range p.Ratios {
			if r.What == c.what && r.Over == c.over && r.Mode == c.of {
				found = true
				if math.Abs(r.Value()-c.want) > 0.006 {
					t.Errorf("%s, %s ÷ %s: %.4f, want %.4f", c.what, c.of, c.over, r.Value(), c.want)
				}
			}
		}
		if !ok || !found {
			t.Errorf("no %s, %s ÷ %s", c.what, c.of, c.over)
		}
	}
	if _, ok := PublishedFigures("quick"); ok {
		t.Error("quick has no source")
	}
}

// The paper's latency is its throughput restated: the product hardly moves, while
// both factors do by more than twenty.
func TestPublishedLatencyIsThroughput(t *testing.T) {
	for _, r := range lxcRows() {
		for method := range r.pps {
			w := r.inFlight(method)
			if r.pairs == 1 && (w < 495 || w > 499.5) || r.pairs == 10 && (w < 380 || w > 490) {
				t.Errorf("%s, %d B, %d pairs, %s: %.1f packets under way", r.span, r.size, r.pairs, method, w)
			}
		}
		if none := r.pps[lxcHost] == 0; none != (r.pairs == 10) {
			t.Errorf("%+v", r)
		}
	}
}

func TestPublishedBesideOurs(t *testing.T) {
	r := invented()["lxc"]
	p, _ := PublishedFigures("lxc2019")
	lines := r.beside(p)
	if len(lines) != 48 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, l := range lines {
		if one := l.Figure == "p50" && l.Pairs > 1; one != (l.Same == "") || one == strings.Contains(l.Ours, "[") {
			t.Errorf("%s: %s, %s", l.What, l.Ours, l.Same)
		}
	}
	emulated := Report{Method: r.Method, Cells: []CellResult{{Emulated: true}}, Probes: r.Probes, Samples: r.Samples}
	for _, l := range emulated.beside(p) {
		if l.Same != "" && l.Same != "emulated: no speed" {
			t.Errorf("%s on an emulated processor: %s", l.What, l.Same)
		}
	}
	text := r.publishedText()
	for _, want := range []string{"packets a second × latency is 495 to 499", "macvlan ÷ bridge", "figure 11", "1.49", "78308 · 6.339 · 496"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if other := invented()["usual"]; other.publishedText() != "" {
		t.Error("a preset without a source has published figures")
	}
	for want, ours := range map[string]Ratio{
		"same, within our interval": {3, 1.4, 1.2, 1.6}, "same direction": {3, 1.2, 1.1, 1.3}, "ours shows no difference": {3, 1, 0.9, 1.1}, "opposite direction": {3, 0.8, 0.7, 0.9},
	} {
		if got := agreement(1.49, ours); got != want {
			t.Errorf("%+v: %s, want %s", ours, got, want)
		}
	}
}

// Every published ratio has a cell in its preset's own matrix, so that a run of the
// preset sets a figure beside it.
func TestPublishedCells(t *testing.T) {
	pair := Pair{}
	for _, p := range Presets() {
		published, ok := PublishedFigures(p.Name)
		if p.Name != "weave-fastdp" && p.Name != "docker-overlay" && p.Name != "ecs-multinic" || !ok {
			continue
		}
		var columns []Column
		wires := p.Wires
		if wires == nil {
			wires = []string{""}
		}
		for _, mode := range p.Modes {
			for _, wire := range wires {
				columns = append(columns, Column{Mode: mode, Span: Across, Wire: wire, Pairs: slices.Repeat([]Pair{pair}, p.Pairs)})
			}
		}
		m := p.Matrix(columns)
		for _, r := range published.Ratios {
			for _, mode := range []string{r.Mode, r.Over} {
				if !slices.Contains(m.withDefaults().cells(), withMode(r.Cell, mode)) {
					t.Errorf("%s: no cell %s", p.Name, withMode(r.Cell, mode))
				}
			}
			i := slices.IndexFunc(m.Probes, func(x Probe) bool { return x.Name() == r.Probe })
			if i < 0 || !slices.ContainsFunc(m.Probes[i].Figures(), func(f Figure) bool { return r.Figure == "" || f.Name == r.Figure }) {
				t.Errorf("%s: no figure %s of %s", p.Name, r.Figure, r.Probe)
			}
		}
	}
}
