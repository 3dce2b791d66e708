package bench

// publishedECS is the article, with those of its ratios that a preset measures. They are from its
// table of basic performance, or from the two tests of the key-value store and the ladder in its
// conclusion.
func publishedECS(ratios []PublishedRatio) Published {
	return Published{
		Title:  "Beside the published figures: ECS multi-NIC",
		Source: "Alibaba Cloud Community Blog: Best Practices of ECS Container Network Multi-NIC Solution; the table of basic performance, the two TBase tests, the test conclusion",
		Rig:    "Theirs: sockperf with 10 UDP servers on consecutive ports and 10 clients at full speed for 300 s; TBase, a key-value store, on one server of 16 cores and 60 GB (7 instances of 7 GB), clients of 4 cores and 8 GB",
		Statements: []string{
			"Absolute figures are bound to the hardware: only ratios are set beside each other. Their multi-NIC container owns a whole virtual NIC, as in our mode direct.",
			"Mbit/s ÷ packets/s is 13.9 bytes a message, sockperf's default of 14: their three sockperf columns are packet rates only, and the first two are the same measurement.",
			"The +29.6 % of TBase is not like for like: bridge was driven by 8 clients with 128 threads, multi-NIC by 16 clients with 256. Our runs hold the clients constant.",
			"Of the processor, multi-NIC took user 45 %, system 29 %, softirq 18 %, steal 2 %; softirq is said to be lower than with the bridge, without its figure.",
			"The ladder's \"+0.1 ms\" of VPC routes against the host is a difference, not a ratio, and is left out below.",
		},
		Tables: []PublishedTable{ecsBasic(), ecsStore()},
		Ratios: ratios,
	}
}

func ecsBasic() PublishedTable {
	return PublishedTable{Title: "As published: basic performance", Head: []string{"", "one thread, Mbit/s", "one thread, packets/s", "many threads, packets/s", "TBase 1 KB, requests/s"}, Rows: [][]string{
		{"Linux bridge", "32.867", "295,980", "2,341,669", "363,300"},
		{"multi-NIC", "51.389", "469,865", "3,851,922", "470,900"},
		{"as printed", "+56.35 %", "+58.7 %", "+64.49 %", "+29.6 %"},
	}}
}

func ecsStore() PublishedTable {
	return PublishedTable{Title: "As published: TBase", Head: []string{"network", "operation", "clients", "threads", "NIC", "load", "CPU", "requests/s", "mean", "p99"}, Rows: [][]string{
		{"bridge", "set 1 KB", "8", "128", "424 MB", "7.15", "44 %", "363,300", "0.39 ms", "< 1 ms"},
		{"bridge", "get 1 KB", "8", "128", "421 MB", "7.06", "45 %", "357,000", "0.39 ms", "< 1 ms"},
		{"bridge", "set 64 KB", "1", "", "1,884 MB", "2.3", "17 %", "29,000", "0.55 ms", "< 5 ms"},
		{"bridge", "set 128 KB", "1", "", "2,252 MB", "2.53", "18 %", "18,200", "0.87 ms", "< 6 ms"},
		{"bridge", "set 256 KB", "1", "", "2,804 MB", "2.36", "20 %", "11,100", "1.43 ms", "< 5 ms"},
		{"bridge", "set 512 KB", "1", "", "3,104 MB", "2.61", "20 %", "6,000", "2.62 ms", "< 10 ms"},
		{"multi-NIC", "set/get 1 KB", "16", "256", "570 MB", "6.97", "45 %", "470,900", "0.30 ms", "< 1 ms"},
	}}
}

func ecsMeasured() []PublishedRatio {
	packets := Cell{Mode: "direct", Span: Across, Probe: "sockperf-throughput", Size: 14, Pairs: 1}
	many := packets
	many.Pairs = 10
	return []PublishedRatio{
		{Where: "basic performance", What: "one thread, Mbit/s", Over: Reference, Cell: packets, Figure: "received", A: 51.389, B: 32.867, Unit: "Mbit/s", Note: "the packet rate again"},
		{Where: "basic performance", What: "one thread, packets/s", Over: Reference, Cell: packets, Figure: "received", A: 469865, B: 295980, Unit: "packets/s"},
		{Where: "basic performance", What: "10 servers and clients, packets/s", Over: Reference, Cell: many, Figure: "received", A: 3851922, B: 2341669, Unit: "packets/s"},
	}
}

func ecsStoreRatios() []PublishedRatio {
	store := Cell{Mode: "direct", Span: Across, Probe: "redis-set", Size: 1024, Pairs: 1}
	return []PublishedRatio{
		{Where: "TBase tests", What: "set 1 KB, requests/s", Over: Reference, Cell: store, A: 470900, B: 363300, Unit: "requests/s", Note: "theirs with twice the clients"},
		{Where: "TBase tests", What: "set 1 KB, mean latency", Over: Reference, Cell: store, Figure: "mean", A: 0.30, B: 0.39, Unit: "ms", Note: "theirs with twice the clients"},
	}
}

// ecsLadder are the losses against the host's network, from the conclusion. Its VPC routes are
// plain routes between hosts (our routed), its Flannel a VXLAN overlay.
func ecsLadder() []PublishedRatio {
	return append([]PublishedRatio{
		rung("routed", "VPC routes, bandwidth", "iperf3", 0, 1.00),
		rung("routed", "VPC routes, packets/s", "sockperf-throughput", 64, 1.00),
		rung("direct", "multi-NIC, bandwidth", "iperf3", 0, 1.00),
		rung("direct", "multi-NIC, packets/s", "sockperf-throughput", 64, 1.00),
		rung("overlay", "Flannel VXLAN, bandwidth", "iperf3", 0, 0.95),
		rung("overlay", "Flannel VXLAN, packets/s", "sockperf-throughput", 64, 0.95),
	}, ecsPages()...)
}

// ecsPages are those of a small page.
func ecsPages() []PublishedRatio {
	return []PublishedRatio{
		rung("routed", "VPC routes, nginx small page", "wrk", 0, 0.90),
		rung("direct", "multi-NIC, application", "wrk", 0, 1.10),
		rung("overlay", "Flannel VXLAN, nginx small page", "wrk", 0, 0.70),
	}
}

func rung(mode, what, probe string, size int, ratio float64) PublishedRatio {
	return PublishedRatio{Where: "test conclusion", What: what, Over: Control, Cell: Cell{Mode: mode, Span: Across, Probe: probe, Size: size, Pairs: 1}, Ratio: ratio}
}
