package bench

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle/lazyregexp"
)

// Qperf is one of qperf's tests: tcp_bw sends 64 KiB writes at full speed, tcp_lat and udp_lat
// exchange one byte. qperf prints half of the round trip. It has no option for congestion control:
// new sockets have that of the endpoint's namespace.
type Qperf struct{ Test string }

// Name is qperf-tcp-bw and so on.
func (q Qperf) Name() string { return "qperf-" + strings.ReplaceAll(q.Test, "_", "-") }

func (Qperf) Tools() []Tool      { return []Tool{toolQperf} }
func (Qperf) Sizes(Matrix) []int { return nil }
func (Qperf) twoPorts()          {}

// Figures are the bandwidth, or the mean latency.
func (q Qperf) Figures() []Figure {
	all := []Figure{{"mean", "µs, half the round trip", LowerIsBetter}, cost("message")}
	if q.Test == "tcp_bw" {
		all = []Figure{{"received", "Gbit/s", HigherIsBetter}, cost("MB")}
	}
	return append(all, endFigures()...)
}

func (Qperf) Cost(m Matrix, _ Cell) time.Duration { return wholeCost(m) + 200*time.Millisecond }

// Prepare starts a server for each pair.
func (q Qperf) Prepare(ctx context.Context, s Setting) (Session, error) {
	seconds := wholeSeconds(s.Matrix.Duration)
	r := &toolRun{set: s, sums: []string{"received"}, ends: true}
	r.client = func(p Pair) []string {
		return []string{"qperf", "-lp", s.port(p), "-ip", s.secondPort(p), "-t", strconv.Itoa(seconds), "-e", "6", "-uu", "-v", p.target(), q.Test}
	}
	r.read = func(text string) (map[string]float64, error) { return readQperf(text, q.Test, seconds) }
	return r, r.serve(ctx, "tcp", func(p Pair) []string { return []string{"qperf", "-lp", s.port(p)} })
}

var (
	qperfBandwidth = lazyregexp.New(`(?m)^\s*bw\s*=\s*([\d.,]+) bytes/sec`)
	qperfLatency   = lazyregexp.New(`(?m)^\s*latency\s*=\s*([\d.,]+) ns`)
	qperfMessages  = lazyregexp.New(`(?m)^\s*msg_rate\s*=\s*([\d.,]+) /sec`)
)

// readQperf reads the verbose text with unified units.
func readQperf(text, test string, seconds int) (map[string]float64, error) {
	line, name, unit := qperfLatency, "mean", 1e-3
	if test == "tcp_bw" {
		line, name, unit = qperfBandwidth, "received", 8e-9
	}
	plain := strings.ReplaceAll(text, ",", "")
	v, err := numbers(line, plain)
	if err != nil {
		return nil, err
	}
	messages, err := numbers(qperfMessages, plain)
	if err != nil {
		return nil, err
	}
	if v[0] <= 0 {
		return nil, errors.New("nothing was measured; it said: " + tail(text))
	}
	all := map[string]float64{name: v[0] * unit, handled: messages[0] * float64(seconds)}
	if test == "tcp_bw" {
		all[handled] = v[0] / 1e6 * float64(seconds)
	}
	return all, nil
}
