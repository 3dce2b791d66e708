package bench

import "time"

// weaveFastdp is qperf's bandwidth and latency between two hosts, at two MTUs. The article ran each
// test once for ten seconds.
func weaveFastdp(columns []Column) Matrix {
	return Matrix{
		Preset: "weave-fastdp", Columns: columns, Probes: []Probe{Qperf{"tcp_bw"}, Qperf{"udp_lat"}}, PairCounts: []int{1},
		Rounds: 10, WarmupRounds: 1, Duration: 2 * time.Second, Placement: SeparateCores, Seed: 1,
	}
}

// weaveMTUs are the MTUs of the article's networks, by the wire that carries them here: frames of
// 1,500 and of 9,000 bytes, each sent separately as on a cable.
func weaveMTUs() map[string]int { return map[string]int{"cut": 1410, "jumbo": 8950} }

func publishedWeave() Published {
	return Published{
		Title:  "Beside the published figures: Weave Net's fast datapath",
		Source: "Weaveworks: the article on the preview of Weave Net's fast datapath (qperf and mpstat, default MTU 1410)",
		Rig:    "Theirs: 2 × EC2 c3.8xlarge (32 CPUs), enhanced networking of 10 Gbit/s, qperf 0.4.9, tcp_bw and udp_lat for 10 s, mpstat for 10 s",
		Statements: []string{
			"Absolute figures are bound to the hardware: only ratios are set beside each other. Their fast datapath is VXLAN by the kernel's Open vSwitch module; beside it stand our overlay and, as a second line, our reproduction of Docker's layout.",
			"They have one figure for the host, whose MTU they do not give. Ours is of the same wire: MTU 1,500 for networks of 1410, and 9,000 for those of 8950.",
			"Their 0.26 at MTU 1410 is the price of small frames: our wires do not join frames either (cut and jumbo), but they compute no checksums and have no NIC.",
			"Of mpstat's 32 CPUs, 99.6 % idle is 0.13 CPUs busy, beside streams of up to 1 GB/s. Ours are of the one CPU that the program is bound to, and in one kernel: the sender's carries each packet up to the receiver's socket.",
		},
		Tables: []PublishedTable{weaveRates(), weaveCPU()},
		Ratios: append(weaveRatios(Overlay), weaveRatios(DockerLayout)...),
	}
}

func weaveRates() PublishedTable {
	return PublishedTable{Title: "As published: qperf", Head: []string{"network", "tcp_bw", "÷ host", "udp_lat", "÷ host"}, Rows: [][]string{
		{"host", "1.2 GB/s", "", "48.1 µs", ""},
		{"Weave fast datapath, MTU 1410", "316 MB/s", "0.26", "61.4 µs", "1.28"},
		{"Weave fast datapath, MTU 8950", "1.09 GB/s", "0.91", "61.9 µs", "1.29"},
	}}
}

func weaveCPU() PublishedTable {
	return PublishedTable{Title: "As published: mpstat for 10 s, per cent of 32 CPUs", Head: []string{"end", "system", "softirq", "idle"}, Rows: [][]string{
		{"sender", "0.16–0.19", "0.13–0.20", "99.59–99.69"},
		{"receiver", "0.09–0.12", "0.12–0.14", "99.73–99.74"},
	}}
}

// weaveRatios are the ratios to the host, for a mode of ours.
func weaveRatios(mode string) (all []PublishedRatio) {
	for _, at := range []struct {
		wire, what    string
		rate, latency float64
	}{{"cut", "MTU 1410", 0.316, 61.4}, {"jumbo", "MTU 8950", 1.09, 61.9}} {
		c := Cell{Mode: mode, Span: Across, Wire: at.wire, Probe: "qperf-tcp-bw", Pairs: 1}
		all = append(all, PublishedRatio{Where: "qperf", What: "tcp_bw, " + at.what, Over: Control, Cell: c, Figure: "received", A: at.rate, B: 1.2, Unit: "GB/s"})
		c.Probe = "qperf-udp-lat"
		all = append(all, PublishedRatio{Where: "qperf", What: "udp_lat, " + at.what, Over: Control, Cell: c, Figure: "mean", A: at.latency, B: 48.1, Unit: "µs"})
	}
	return all
}
