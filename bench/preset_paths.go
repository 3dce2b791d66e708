package bench

import "time"

// The names of wires that goals are about; the caller makes them.
const (
	wholeWire  = "intact"
	mergedWire = "merged"
	shapedWire = "10g"
)

func pathWires() []string { return []string{wholeWire, mergedWire, shapedWire} }

// pathModes returns the modes with the fast path, the same without it, and their peers.
func pathModes() []string {
	return []string{Native, Control, Overlay, Overlay + Stack, DockerLayout, DockerLayoutNF, "routed", Reference, Reference + Stack, "macvlan"}
}

// pathLoad is the rate of Paced: half of the rate of Docker's layout with both ends on one core of
// a small machine.
const pathLoad = 40000

// paths measures the fast path. Both ends are on one core: then the rate shows the CPU time of a
// packet's path, and no other core has to be woken.
func paths(columns []Column) Matrix {
	return Matrix{
		Preset: "paths", Columns: columns, Choices: pathChoices(), Sizes: []int{28}, PairCounts: []int{1}, Load: pathLoad,
		Probes: []Probe{tcpRR, udpRR, Throughput{}, Iperf3{}, Paced{}, Paced{Flows: manyFlows}, Attach{}},
		Rounds: 10, WarmupRounds: 1, Duration: 2 * time.Second, Warmup: time.Second, Placement: SameCore, Seed: 1,
	}
}

// qperf's exchange of one byte is a test of request and response for which distributions have a
// tool (netperf is not free).
var tcpRR, udpRR = Qperf{"tcp_lat"}, Qperf{"udp_lat"}

// pathChoices are the choices of the preset paths. Requests and packets do not depend on how a wire
// treats segments, and the equal rate is measured on the shaped wire.
func pathChoices() (all []Choice) {
	far := []string{Native, Control, Overlay, Overlay + Stack, DockerLayout, DockerLayoutNF, "routed", "macvlan"}
	for _, p := range []Probe{tcpRR, udpRR, Throughput{}} {
		all = append(all, Choice{p.Name(), Across, []string{wholeWire}, far})
	}
	all = append(all, Choice{Iperf3{}.Name(), Across, nil, far}, Choice{Paced{}.Name(), Across, []string{shapedWire}, far},
		Choice{Paced{Flows: manyFlows}.Name(), Across, []string{shapedWire}, []string{Native, Overlay, Overlay + Stack, DockerLayout}})
	for _, p := range []Probe{tcpRR, Throughput{}, Iperf3{}} {
		all = append(all, Choice{Probe: p.Name(), Span: SameHost, Modes: []string{Control, Overlay, Overlay + Stack, DockerLayout, "routed", Reference, Reference + Stack, "macvlan"}})
	}
	return append(all, Choice{Probe: Attach{}.Name(), Span: SameHost, Modes: []string{Overlay, Overlay + Stack, Reference, Reference + Stack}})
}
