package bench

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/heddle-network/heddle/lazyregexp"
)

// Flood is ICMP echoes sent as fast as they come back ("ping -f").
type Flood struct{}

func (Flood) Name() string       { return "ping-flood" }
func (Flood) Tools() []Tool      { return []Tool{toolPing} }
func (Flood) Sizes(Matrix) []int { return nil }

// Figures have the rate first: at full speed it says more than the average.
func (Flood) Figures() []Figure {
	return []Figure{
		{"rate", "echoes/s", HigherIsBetter},
		{"rtt-avg", "µs, round trip", LowerIsBetter},
		{"lost", "% of sent", LowerIsBetter},
		cost("echo"),
	}
}

func (Flood) Cost(m Matrix, _ Cell) time.Duration { return wholeCost(m) }

// Prepare has nothing to start.
func (Flood) Prepare(_ context.Context, s Setting) (Session, error) {
	return &toolRun{set: s, read: readFlood, sums: []string{"rate"}, client: func(p Pair) []string {
		return []string{"ping", "-n", "-q", "-f", "-w", strconv.Itoa(wholeSeconds(s.Matrix.Duration)), p.target()}
	}}, nil
}

var pingTime = lazyregexp.New(`packet loss, time (\d+)ms`)

// readFlood divides the number of echoes by ping's own time.
func readFlood(text string) (map[string]float64, error) {
	all, err := readPing(text)
	if err != nil {
		return nil, err
	}
	n, err := numbers(pingSent, text)
	if err != nil {
		return nil, err
	}
	ms, err := numbers(pingTime, text)
	if err != nil {
		return nil, err
	}
	if ms[0] <= 0 {
		return nil, errors.New("no time went by; it said: " + tail(text))
	}
	return map[string]float64{"rate": n[1] / ms[0] * 1000, "rtt-avg": all["rtt-avg"], "lost": all["lost"], handled: n[1]}, nil
}
