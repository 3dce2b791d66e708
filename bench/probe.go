package bench

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// The directions of a figure.
const (
	HigherIsBetter = "higher is better"
	LowerIsBetter  = "lower is better"
	Informative    = "for information"
)

// Figure is one number that a probe reads.
type Figure struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better string `json:"better"`
}

// Probe runs one tool. With several pairs, throughputs are sums over the
// pairs and latencies the median over the pairs of each pair's percentile.
type Probe interface {
	Name() string
	// Tools are the programs that the probe needs. The first one measures.
	Tools() []Tool
	// Figures are the figures that the probe reads. The first is the headline.
	Figures() []Figure
	// Sizes are the message sizes with which the probe is run; nil if it has none.
	Sizes(Matrix) []int
	// Cost is how long one run takes, without the preparation.
	Cost(Matrix, Cell) time.Duration
	// Prepare starts what can be started before the run. The caller closes the session.
	Prepare(context.Context, Setting) (Session, error)
}

// Session is a prepared run.
type Session interface {
	// Measure takes the reading. It opens and closes the window around the measured part.
	Measure(context.Context, *Window) (map[string]float64, error)
	Close()
}

// Setting holds the settings of one run.
type Setting struct {
	Matrix Matrix
	Cell   Cell
	Pairs  []Pair
	// Slot is the index of the cell's first port.
	Slot uint16
	// Load is the load that UnderLoad offers, in messages per second.
	Load int

	cores cores
	spawn *spawner
	// runContext is the run's context: programs outlive the time-out of Prepare.
	runContext context.Context
}

func (s Setting) port(p Pair) string { return strconv.Itoa(int(p.port(s.Slot))) }

// secondPort is for probes that use two ports.
func (s Setting) secondPort(p Pair) string { return strconv.Itoa(int(p.port(s.Slot + 1))) }

// usesTwoPorts is a probe whose server has a port for the data besides its own.
type usesTwoPorts interface{ twoPorts() }

func slots(p Probe) uint16 {
	if _, two := p.(usesTwoPorts); two {
		return 2
	}
	return 1
}

func (s Setting) client(p Pair, argv ...string) (*child, error) {
	return s.pinned(p.Client, s.cores.client, argv)
}

func (s Setting) server(p Pair, argv ...string) (*child, error) {
	return s.pinned(p.Server, s.cores.server, argv)
}

func (s Setting) pinned(at Endpoint, cpu int, argv []string) (*child, error) {
	c, err := s.spawn.start(s.runContext, at, append([]string{"taskset", "-c", strconv.Itoa(cpu)}, argv...)...)
	if err == nil {
		c.program = filepath.Base(argv[0])
	}
	return c, err
}

// Probes are all probes, in the order of a report. Throughput, latency under a fixed load and
// unloaded ping-pong are three separate numbers: latency at saturation is only the length of a
// queue.
func Probes() []Probe {
	return []Probe{
		Throughput{}, UnderLoad{}, UnderLoad{Percent: 10}, UnderLoad{Percent: 50}, UnderLoad{Percent: 80}, PingPong{}, Lossless{}, Iperf3{}, Ping{}, Flood{},
		Netperf{Test: "TCP_RR"}, Netperf{Test: "UDP_RR"}, Netperf{Test: "TCP_STREAM"}, Netperf{Test: "UDP_STREAM"},
		Qperf{"tcp_bw"}, Qperf{"tcp_lat"}, Qperf{"udp_lat"}, Wrk{}, Redis{"set"}, Redis{"get"},
		Paced{}, Paced{Flows: manyFlows}, Attach{},
	}
}

// quickProbes returns the probes for a first look.
func quickProbes() []Probe { return []Probe{Throughput{}, UnderLoad{}, PingPong{}, Iperf3{}, Ping{}} }

func probeNames() string {
	var names []string
	for _, p := range Probes() {
		names = append(names, p.Name())
	}
	return strings.Join(names, ", ")
}

// ProbesNamed selects from Probes.
func ProbesNamed(names ...string) ([]Probe, error) {
	var all []Probe
	for _, name := range names {
		i := slices.IndexFunc(Probes(), func(p Probe) bool { return p.Name() == name })
		if i < 0 {
			return nil, heddle.Errorf(heddle.BadArgument, "find probe",
				strconv.Quote(name), "there is no such probe", "choose from "+probeNames())
		}
		all = append(all, Probes()[i])
	}
	return all, nil
}

// wholeSeconds rounds up, for tools that accept only whole seconds.
func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// medianOver combines the pairs' readings figure by figure.
func medianOver(readings []map[string]float64) map[string]float64 {
	values := map[string][]float64{}
	for _, r := range readings {
		for name, v := range r {
			values[name] = append(values[name], v)
		}
	}
	all := map[string]float64{}
	for name, v := range values {
		all[name] = Median(v)
	}
	return all
}

func fail(op, object string, cause error) error {
	return heddle.Wrap(heddle.BenchFailed, op, object, cause, "")
}
