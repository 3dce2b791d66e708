package bench

import (
	"context"
	"time"
)

// PingPong is the latency with one message under way at a time, so that there is no queue anywhere.
type PingPong struct{ sleepingClient }

func (PingPong) Name() string         { return "sockperf-pingpong" }
func (PingPong) Tools() []Tool        { return []Tool{toolSockperf} }
func (PingPong) Sizes(m Matrix) []int { return m.Sizes }
func (PingPong) Figures() []Figure {
	return append(latencyFigures("from when it was sent"), cost("round trip"))
}

func (PingPong) Cost(m Matrix, _ Cell) time.Duration { return latencyCost(m) }

// The client reserves memory for the times of 600,000 messages a second, which is 14 MiB a second.
func (PingPong) memory(m Matrix) int { return 10 + clientLimit(m.Duration+latencyWarmup)*14 }

// Prepare starts a server and a stopped client for each pair.
func (PingPong) Prepare(ctx context.Context, s Setting) (Session, error) {
	r := latencyRun(s)
	r.read = func(_ int, client, _ string) (map[string]float64, error) { return readLatency(client) }
	if err := r.prepare(ctx, "ping-pong"); err != nil {
		return nil, err
	}
	return r, nil
}
