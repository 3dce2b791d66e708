package bench

import (
	"errors"
	"fmt"
	"time"
)

// latencyFigures are the figures of the latency probes. sockperf halves the round trip, so they are
// estimates for one direction, in microseconds.
func latencyFigures(since string) []Figure {
	unit := "µs, half the round trip " + since
	return []Figure{
		{"p50", unit, LowerIsBetter},
		{"p99", unit, LowerIsBetter},
		{"p99.9", unit, LowerIsBetter},
		{"dropped", "messages", LowerIsBetter},
		{"observations", "", Informative},
	}
}

var latencyPercentiles = map[string]string{"50.000": "p50", "99.000": "p99", "99.900": "p99.9"}

// minObservations is how many observations a p99.9 needs to be more than the maximum.
const minObservations = 1000

// readLatency reads the summary of a ping-pong client. The p99.9 is left out if there were too few
// observations for it.
func readLatency(client string) (map[string]float64, error) {
	seen, err := numbers(observedLine, client)
	if err != nil {
		return nil, err
	}
	dropped, err := numbers(droppedLine, client)
	if err != nil {
		return nil, err
	}
	answered, err := numbers(answeredLine, client)
	if err != nil {
		return nil, err
	}
	all := map[string]float64{"observations": seen[0], "dropped": dropped[0], handled: answered[0]}
	for _, line := range percentLine.FindAllString(plain(client), -1) {
		v := percentLine.FindStringSubmatch(line)
		one, err := numbers(percentLine, line)
		if err != nil {
			return nil, err
		}
		if name, wanted := latencyPercentiles[v[1]]; wanted {
			all[name] = one[1]
		}
	}
	if seen[0] < minObservations {
		delete(all, "p99.9")
	}
	if _, ok := all["p50"]; !ok {
		return nil, errors.New("no median; it said: " + tail(client))
	}
	if _, ok := all["p99"]; !ok {
		return nil, fmt.Errorf("no 99th percentile; it said: %s", tail(client))
	}
	return all, nil
}

func latencyCost(m Matrix) time.Duration {
	return m.Duration + latencyWarmup + drain + stopCost + 50*time.Millisecond
}

func latencyRun(s Setting) *sockperfRun {
	return &sockperfRun{set: s, duration: s.Matrix.Duration + latencyWarmup, sums: []string{"dropped", "observations"}}
}
