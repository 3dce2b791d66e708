package bench

import "time"

// dockerOverlay is ping and one TCP stream, as in an article about Docker's overlay over etcd. The
// article sent four pings and one stream of ten seconds.
func dockerOverlay(columns []Column) Matrix {
	return Matrix{
		Preset: "docker-overlay", Columns: columns, Probes: []Probe{Ping{}, Iperf3{}}, PairCounts: []int{1},
		Rounds: 10, WarmupRounds: 1, Duration: 2 * time.Second, Placement: SeparateCores, Seed: 1,
	}
}

func publishedDocker() Published {
	return Published{
		Title:  "Beside the published figures: Docker's overlay over etcd",
		Source: "A walk-through of Docker's multi-host overlay network (Docker 1.9 or later, etcd 2.2.1 on two nodes): ping -c 4 between containers, iperf between hosts and between containers",
		Rig:    "Theirs: two nodes of unknown make, ping × 4, iperf over TCP for 10 s, each once",
		Statements: []string{
			"Absolute figures are bound to the hardware: only ratios are set beside each other. Their overlay is Docker's own; the line of ours that compares is our reproduction of its layout, not its binary, and heddle's overlay stands below it.",
			"They pinged containers only: without the host's own round trip there is no ratio, and their 0.551 ms says as much of the wire as of the overlay. Four pings are no distribution: their largest is the first, which waits for the neighbour.",
			"Their window is what iperf printed of the socket; ours is the sender's largest congestion window.",
		},
		Tables: []PublishedTable{dockerPing(), dockerStream()},
		Ratios: append(dockerRatios(DockerLayout), dockerRatios(Overlay)...),
	}
}

func dockerPing() PublishedTable {
	return PublishedTable{Title: "As published: ping between containers, ms", Head: []string{"1st", "2nd", "3rd", "4th", "min", "avg", "max", "mdev", "lost"}, Rows: [][]string{
		{"0.735", "0.581", "0.444", "0.447", "0.444", "0.551", "0.735", "0.122", "0 %"},
	}}
}

func dockerStream() PublishedTable {
	return PublishedTable{Title: "As published: iperf, TCP for 10 s", Head: []string{"between", "transferred", "rate", "window"}, Rows: [][]string{
		{"hosts", "2.59 GB", "2.22 Gbit/s", "136 KB"},
		{"containers", "1.84 GB", "1.58 Gbit/s", "81 KB"},
	}}
}

// dockerRatios are the ratios to the host, for a mode of ours.
func dockerRatios(mode string) []PublishedRatio {
	c := Cell{Mode: mode, Span: Across, Probe: "iperf3", Pairs: 1}
	return []PublishedRatio{
		{Where: "iperf", What: "TCP, Gbit/s", Over: Control, Cell: c, Figure: "received", A: 1.58, B: 2.22, Unit: "Gbit/s"},
		{Where: "iperf", What: "TCP, window", Over: Control, Cell: c, Figure: "window", A: 81, B: 136, Unit: "KB", Note: "not the same window, see above"},
	}
}
