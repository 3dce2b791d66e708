package bench

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
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

// Probe drives one tool. With several pairs, throughputs are sums over the
// pairs and latencies the median over the pairs of each pair's percentile.
type Probe interface {
	Name() string
	Tool() string
	// Figures are what it reads; the first is the headline.
	Figures() []Figure
	// Sized tells whether the message size applies.
	Sized() bool
	// Cost is how long one run takes, without the preparation.
	Cost(Matrix, Cell) time.Duration
	// Prepare starts what can be started ahead; the caller closes the session.
	Prepare(context.Context, Setting) (Session, error)
}

// Session is a prepared run.
type Session interface {
	// Measure takes the reading; it opens and closes the window around the
	// part that counts.
	Measure(context.Context, *Window) (map[string]float64, error)
	Close()
}

// Setting is what one run is made with.
type Setting struct {
	Matrix Matrix
	Cell   Cell
	Pairs  []Pair
	// Slot is the offset from each pair's PortBase.
	Slot uint16

	cores cores
	spawn *spawner
	// life is the run's context: programs outlive the time-out of Prepare.
	life context.Context
}

func (s Setting) port(p Pair) string { return strconv.Itoa(int(p.PortBase + s.Slot)) }

func (s Setting) client(p Pair, argv ...string) (*child, error) {
	return s.spawn.start(s.life, p.Client, append(pin(s.cores.client), argv...)...)
}

func (s Setting) server(p Pair, argv ...string) (*child, error) {
	return s.spawn.start(s.life, p.Server, append(pin(s.cores.server), argv...)...)
}

func pin(cpu int) []string { return []string{"taskset", "-c", strconv.Itoa(cpu)} }

// Probes are all probes, in the order of a report. Throughput, latency under a
// fixed load and unloaded ping-pong are three numbers: latency at saturation is
// only the length of a queue.
func Probes() []Probe {
	return []Probe{Throughput{}, UnderLoad{}, PingPong{}, Iperf3{}, Ping{}}
}

// ProbesNamed selects from Probes.
func ProbesNamed(names ...string) ([]Probe, error) {
	var all []Probe
	for _, name := range names {
		i := slices.IndexFunc(Probes(), func(p Probe) bool { return p.Name() == name })
		if i < 0 {
			return nil, heddle.Errorf(heddle.BadArgument, "probe", name, "sockperf-throughput, sockperf-underload, sockperf-pingpong, iperf3 or ping")
		}
		all = append(all, Probes()[i])
	}
	return all, nil
}

func checkTools(m Matrix) error {
	tools := []string{"taskset"}
	for _, p := range m.Probes {
		tools = append(tools, p.Tool())
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			return heddle.Wrap(heddle.NoTool, "find the tool", tool, err, "install it (Debian: sockperf, iperf3, iputils-ping, util-linux)")
		}
	}
	return nil
}

// wholeSeconds rounds up, for tools that take nothing finer.
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

func add(to, more map[string]float64) {
	for name, v := range more {
		to[name] += v
	}
}

func fail(op, object string, cause error) error {
	return heddle.Wrap(heddle.BenchFailed, op, object, cause, "")
}
