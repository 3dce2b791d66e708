package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/heddle-network/heddle/lazyregexp"
)

// Ping is the round trip of ICMP echoes. The kernel answers them, not a program.
type Ping struct{}

func (Ping) Name() string       { return "ping" }
func (Ping) Tools() []Tool      { return []Tool{toolPing} }
func (Ping) Sizes(Matrix) []int { return nil }
func (Ping) Figures() []Figure {
	return []Figure{
		{"rtt-avg", "µs, round trip", LowerIsBetter},
		{"rtt-min", "µs, round trip", LowerIsBetter},
		{"lost", "% of sent", LowerIsBetter},
		{"rtt-max", "µs, round trip", Informative},
		{"rtt-mdev", "µs, mean deviation of the round trips", Informative},
	}
}

// pingInterval is the requested interval; ping takes up to 6 ms more.
const pingInterval = 10 * time.Millisecond

func pings(m Matrix) int { return min(max(int(m.Duration/pingInterval), 10), 200) }

func (Ping) Cost(m Matrix, _ Cell) time.Duration {
	return time.Duration(pings(m)) * (pingInterval + 6*time.Millisecond)
}

// Prepare has nothing to start.
func (Ping) Prepare(_ context.Context, s Setting) (Session, error) {
	return &toolRun{set: s, read: readPing, client: func(p Pair) []string {
		return []string{"ping", "-n", "-q", "-i", fmt.Sprint(pingInterval.Seconds()), "-c", strconv.Itoa(pings(s.Matrix)), "-W", "1", p.target()}
	}}, nil
}

var (
	pingSent = lazyregexp.New(`(\d+) packets transmitted, (\d+) received`)
	pingRTT  = lazyregexp.New(`rtt min/avg/max/mdev = ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+)`)
)

func readPing(text string) (map[string]float64, error) {
	n, err := numbers(pingSent, text)
	if err != nil {
		return nil, err
	}
	if n[0] == 0 || n[1] == 0 {
		return nil, errors.New("no reply; it said: " + tail(text))
	}
	rtt, err := numbers(pingRTT, text)
	if err != nil {
		return nil, err
	}
	return map[string]float64{"rtt-min": rtt[0] * 1000, "rtt-avg": rtt[1] * 1000, "rtt-max": rtt[2] * 1000, "rtt-mdev": rtt[3] * 1000, "lost": max(0, 100*(1-n[1]/n[0]))}, nil
}
