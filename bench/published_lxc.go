package bench

import "fmt"

// lxcRow is a row of the paper: packets a second and milliseconds by networking method; 0 if it
// measured none.
type lxcRow struct {
	span           string
	size, pairs    int
	figure         [2]int // the number of the figure with the packets, and of that with the latency
	pps, latencyMS map[string]float64
}

// Names of the paper's methods. Its "none" uses the host's stack, as our mode host does; its "host"
// is a program outside any container.
const (
	lxcNone    = "none"
	lxcHost    = "host"
	lxcBridge  = "bridge"
	lxcMacvlan = "macvlan"
)

var lxcMethods = []string{lxcHost, lxcNone, lxcBridge, lxcMacvlan}

func lxcRows() []lxcRow {
	row := func(span string, size, pairs, figure int, pps, ms [4]float64) lxcRow {
		r := lxcRow{span: span, size: size, pairs: pairs, figure: [2]int{figure, figure + 4}, pps: map[string]float64{}, latencyMS: map[string]float64{}}
		for i, method := range lxcMethods {
			if pps[i] > 0 {
				r.pps[method], r.latencyMS[method] = pps[i], ms[i]
			}
		}
		return r
	}
	return []lxcRow{
		row(SameHost, 1024, 1, 4, [4]float64{87263, 78308, 64698, 96692}, [4]float64{5.690, 6.339, 7.685, 5.130}),
		row(SameHost, 1024, 10, 4, [4]float64{0, 37375, 31186, 42462}, [4]float64{0, 10.800, 13.395, 8.956}),
		row(SameHost, 28, 1, 5, [4]float64{89533, 79355, 66310, 99204}, [4]float64{5.545, 6.256, 7.497, 4.994}),
		row(SameHost, 28, 10, 5, [4]float64{0, 38446, 31361, 44924}, [4]float64{0, 10.441, 13.151, 8.705}),
		row(Across, 1024, 1, 6, [4]float64{3801, 3821, 3741, 3960}, [4]float64{131.186, 130.486, 133.299, 125.934}),
		row(Across, 1024, 10, 6, [4]float64{0, 3823, 3052, 3819}, [4]float64{0, 127.104, 158.864, 128.053}),
		row(Across, 28, 1, 7, [4]float64{8244, 8624, 7064, 8248}, [4]float64{60.421, 57.738, 70.508, 60.409}),
		row(Across, 28, 10, 7, [4]float64{0, 8654, 5717, 8515}, [4]float64{0, 55.283, 84.277, 56.050}),
	}
}

// inFlight is, by Little's law, how many packets were under way: the packets that arrive in a
// second, multiplied by the seconds that each took.
func (r lxcRow) inFlight(method string) float64 { return r.pps[method] * r.latencyMS[method] / 1000 }

// lxcWindows returns the least and the largest number of packets under way, over the rows with one
// number of pairs.
func lxcWindows(pairs int) (least, most float64) {
	for _, r := range lxcRows() {
		for method := range r.pps {
			if w := r.inFlight(method); r.pairs == pairs {
				if least == 0 || w < least {
					least = w
				}
				most = max(most, w)
			}
		}
	}
	return least, most
}

func publishedLXC() Published {
	p := Published{
		Title:  "Beside the published figures: LXC networking methods (2019)",
		Source: "Ji, Zhang, Xie, Wang: Container Networking Performance Analysis for Large-Scale User Behavior Simulation. Journal of Computer and Communications 7 (2019), 136–146, doi:10.4236/jcc.2019.710013, figures 4 to 11",
		Rig:    "Theirs: Ubuntu 16.04, server i5-3470 (4 cores, 4 GB), client i7-6700 (8 cores, 16 GB), 10 LXC containers a host, sockperf 3.5 over UDP, 28 and 1024 bytes, 180 s, mean of 10 runs",
	}
	one, oneMost := lxcWindows(1)
	ten, tenMost := lxcWindows(10)
	p.Statements = []string{
		"Absolute figures are bound to the hardware: only ratios are set beside each other. Their \"none\" shares the host's stack and is our host; their \"host\" is a program outside any container.",
		fmt.Sprintf("Their latency column is their throughput restated: packets a second × latency is %.0f to %.0f packets under way in every row with 1 pair, and %.0f to %.0f with 10 pairs. That is a fixed window filling up, so each latency follows from the packet rate and says nothing more about the path.", one, oneMost, ten, tenMost),
		"131 ms on a local network is a queue, not a path; 3,801 packets of 1,024 bytes a second are 31 Mbit/s. We publish saturated packets a second, latency under a fixed load and unloaded ping-pong as three numbers; beside their latency stands ours at half of the slowest mode's capacity.",
	}
	p.Tables = []PublishedTable{lxcTable()}
	for _, r := range lxcRows() {
		p.Ratios = append(p.Ratios, lxcRatios(r)...)
	}
	return p
}

// lxcTable is the table as printed, with the packets under way.
func lxcTable() PublishedTable {
	t := PublishedTable{Title: "As published: packets/s · latency in ms · packets under way (our product of the two)", Head: append([]string{"case"}, lxcMethods...)}
	for _, r := range lxcRows() {
		row := []string{fmt.Sprintf("%s, %d B, %s (figures %d, %d)", spanText(r.span), r.size, pairsText(r.pairs), r.figure[0], r.figure[1])}
		for _, method := range lxcMethods {
			cell := "–"
			if r.pps[method] > 0 {
				cell = fmt.Sprintf("%.0f · %.3f · %.0f", r.pps[method], r.latencyMS[method], r.inFlight(method))
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func lxcRatios(r lxcRow) []PublishedRatio {
	var all []PublishedRatio
	mode := map[string]string{lxcNone: Control, lxcBridge: Reference, lxcMacvlan: "macvlan"}
	for _, of := range [][2]string{{lxcMacvlan, lxcBridge}, {lxcBridge, lxcNone}, {lxcMacvlan, lxcNone}} {
		c := Cell{Mode: mode[of[0]], Span: r.span, Size: r.size, Pairs: r.pairs}
		what := fmt.Sprintf("%s, %d B, %s", spanText(r.span), r.size, pairsText(r.pairs))
		c.Probe = "sockperf-throughput"
		all = append(all, PublishedRatio{Where: fmt.Sprintf("figure %d", r.figure[0]), What: "packets/s, " + what, Over: mode[of[1]], Cell: c,
			Figure: "received", A: r.pps[of[0]], B: r.pps[of[1]], Unit: "packets/s"})
		c.Probe = "sockperf-load50"
		note := "theirs restates the packet rate"
		if r.pairs > 1 {
			note += "; ours is taken with one pair only"
		}
		all = append(all, PublishedRatio{Where: fmt.Sprintf("figure %d", r.figure[1]), What: "latency, " + what, Over: mode[of[1]], Cell: c,
			Figure: "p50", A: r.latencyMS[of[0]], B: r.latencyMS[of[1]], Unit: "ms", Note: note})
	}
	return all
}
