package bench

import (
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// quickBudget is the estimated time that a quick run may take, so that it ends within three
// minutes, including the making of its endpoints and some delay.
const quickBudget = 150 * time.Second

// Preset is a named choice of what to measure. Some presets repeat the measurements of a paper
// or an article, to compare the results with the published ones.
type Preset struct {
	Name, Summary string
	// Modes are its columns, as far as the agent has these modes.
	Modes []string
	// Pairs is the largest number of pairs that run at the same time.
	Pairs int
	// Shared says that the pairs run in one client and one server container, with servers on
	// consecutive ports; otherwise each pair has containers of its own.
	Shared bool
	// Wires are the wires between the hosts; nil for the plain one.
	Wires []string
	// MTUs are those of networks that cross hosts by VXLAN, by the name of the wire.
	MTUs map[string]int
	// Hosts are the numbers of hosts that pairs use; nil for 1 and 2.
	Hosts []int
	// Matrix returns the matrix of the preset for the columns that the caller has made.
	Matrix func([]Column) Matrix
	// Goals are the goals of the preset.
	Goals []Goal
}

// allModes returns the modes that a preset compares by default.
func allModes() []string {
	return []string{Control, Reference, "routed", "macvlan", "direct", Overlay}
}

// everyMode returns all modes and the layouts of others.
func everyMode() []string { return append(allModes(), DockerLayout) }

// Presets returns all presets.
func Presets() []Preset {
	return []Preset{
		{Name: "quick", Summary: "a first look in three minutes", Modes: allModes(), Pairs: 1, Matrix: Quick},
		{Name: "full", Summary: "everything, for hours", Modes: everyMode(), Pairs: 10, Matrix: Full},
		{Name: "lxc2019", Summary: "the matrix of a paper on LXC's network modes", Modes: []string{Control, Reference, "macvlan", "direct"}, Pairs: 10, Matrix: lxc2019},
		{Name: "ecs-multinic", Summary: "ten UDP servers in one container, a small page, a key-value store: host, bridge, routes, whole NIC, VXLAN",
			Modes: []string{Control, Reference, "routed", "direct", Overlay}, Pairs: ecsPairs, Shared: true, Matrix: ecsMultiNIC},
		{Name: "ladder", Summary: "a small web page over each mode against the host's own stack", Modes: everyMode(), Pairs: 1, Matrix: ladder},
		{Name: "weave-fastdp", Summary: "qperf over VXLAN at MTU 1410 and 8950 against the host's own wire", Modes: []string{Control, Overlay, DockerLayout}, Pairs: 1,
			Wires: []string{"cut", "jumbo"}, MTUs: weaveMTUs(), Hosts: []int{2}, Matrix: weaveFastdp},
		{Name: "docker-overlay", Summary: "ping and one TCP stream over VXLAN against the host's own wire", Modes: []string{Control, DockerLayout, Overlay}, Pairs: 1,
			Hosts: []int{2}, Matrix: dockerOverlay},
		{Name: "paths", Summary: "the fast path against the wire, the kernel's path and Docker's layout, with goals", Modes: pathModes(), Pairs: 1, Wires: pathWires(), Matrix: paths, Goals: pathGoals()},
		{Name: "terway-ipvlan", Summary: "ping and netperf by size over the modes for cloud NICs", Modes: []string{Control, "ipvlan", "routed", "direct", "macvlan"}, Pairs: 1, Matrix: terwayIPvlan},
	}
}

// PresetNamed finds one of Presets.
func PresetNamed(name string) (Preset, error) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, heddle.Errorf(heddle.BadArgument, "find preset", strconv.Quote(name),
		"there is no such preset", "choose from "+strings.Join(names, ", "))
}

// Quick is for a first look: one pair, short runs. It uses as many sizes and rounds as fit into
// three minutes with the given columns. With more than about thirteen columns even the smallest
// choice takes longer, see Estimate.
func Quick(columns []Column) Matrix {
	m := Matrix{Preset: "quick", Columns: columns, Probes: quickProbes(), PairCounts: []int{1}, Placement: SeparateCores, Seed: 1}
	for _, try := range []struct {
		sizes  []int
		rounds int
		d      time.Duration
	}{
		{[]int{64, 1024}, 5, time.Second},
		{[]int{64, 1024}, 4, time.Second},
		{[]int{64, 1024}, 3, time.Second},
		{[]int{64, 1024}, 3, 500 * time.Millisecond},
		{[]int{64}, 3, 500 * time.Millisecond},
		{[]int{64}, 3, 300 * time.Millisecond},
		{[]int{64}, 3, 250 * time.Millisecond},
		{[]int{64}, 2, 300 * time.Millisecond},
	} {
		m.Sizes, m.Rounds, m.Duration = try.sizes, try.rounds, try.d
		if Estimate(m) <= quickBudget {
			break
		}
	}
	return m
}

// Full is for publication: all probes, ten rounds of two seconds after one that is not counted,
// with one pair and, if the columns have as many, ten pairs. It takes hours: see Estimate, and
// Options.Resume.
func Full(columns []Column) Matrix {
	return Matrix{
		Preset: "full", Columns: columns, Probes: Probes(), Sizes: []int{14, 1024, 65507}, Values: []int{1 << 10, 64 << 10, 512 << 10},
		PairCounts: oneAnd(10, columns), Rounds: 10, WarmupRounds: 1, Duration: 2 * time.Second, Warmup: time.Second,
		Placement: SeparateCores, Seed: 1,
	}
}

// lxc2019 is UDP with 28 and 1,024 bytes and with one and ten pairs. The paper took ten runs of 180
// s and published packets and their latency under saturation, which is the length of a queue. Three
// numbers are measured here instead (see Probes).
func lxc2019(columns []Column) Matrix {
	return Matrix{
		Preset: "lxc2019", Columns: columns, Probes: []Probe{Throughput{}, UnderLoad{Percent: 50}, PingPong{}}, Sizes: []int{28, 1024},
		PairCounts: oneAnd(10, columns), Rounds: 10, WarmupRounds: 1, Duration: 2 * time.Second, Placement: SeparateCores, Seed: 1,
	}
}

// ecsPairs is the number of servers and of clients.
const ecsPairs = 10

// ecsMultiNIC is sockperf at full speed from one client, and from ten clients to ten servers on
// consecutive ports of one container. The published figures are for 14-byte messages over 300 s:
// rates of packets, not of bytes. The page and the store are what the article measured across hosts;
// their clients are as many in every mode, which the article's were not.
func ecsMultiNIC(columns []Column) Matrix {
	m := Matrix{
		Preset: "ecs-multinic", Columns: columns, Probes: []Probe{Throughput{}, Wrk{}, Redis{"set"}, Redis{"get"}}, Sizes: []int{14}, Values: []int{1 << 10, 64 << 10},
		PairCounts: oneAnd(ecsPairs, columns), Rounds: 10, WarmupRounds: 1, Duration: 3 * time.Second, Placement: SeparateCores, Seed: 1,
	}
	for _, p := range m.Probes[1:] {
		m.Choices = append(m.Choices, Choice{Probe: p.Name(), Span: Across})
	}
	return m
}

// ladder compares what an application sees: bandwidth, packets, latency, and a small page.
func ladder(columns []Column) Matrix {
	return Matrix{
		Preset: "ladder", Columns: columns, Probes: []Probe{Throughput{}, PingPong{}, Iperf3{}, Wrk{}, Redis{"set"}, Redis{"get"}}, Sizes: []int{64}, Values: []int{1 << 10}, PairCounts: []int{1},
		Rounds: 10, WarmupRounds: 1, Duration: 2 * time.Second, Warmup: time.Second, Placement: SeparateCores, Seed: 1,
	}
}

// terwayIPvlan repeats a talk on a container network for clouds, which compared ipvlan, policy
// routes and whole NICs: ping, normal and flood, and netperf with several sizes. The talk gave
// its results in words only. Without netperf, similar tools are used, with one size for TCP.
func terwayIPvlan(columns []Column) Matrix {
	netperf := func(test string, other Probe) Probe { return Netperf{Test: test, Sized: true, Else: other} }
	return Matrix{
		Preset: "terway-ipvlan", Columns: columns,
		Probes: []Probe{Ping{}, Flood{}, netperf("TCP_RR", Qperf{"tcp_lat"}), netperf("UDP_RR", PingPong{}),
			netperf("TCP_STREAM", Iperf3{}), netperf("UDP_STREAM", Throughput{})},
		Sizes: []int{64, 1024, 8192}, PairCounts: []int{1},
		Rounds: 10, WarmupRounds: 1, Duration: time.Second, Placement: SeparateCores, Seed: 1,
	}
}

// oneAnd returns one pair, and also many pairs if all columns have them.
func oneAnd(many int, columns []Column) []int {
	for _, c := range columns {
		if len(c.Pairs) < many {
			return []int{1}
		}
	}
	return []int{1, many}
}
