package bench

import (
	"context"
	"time"
)

// PingPong is latency with one message under way at a time: no queue anywhere.
type PingPong struct{}

func (PingPong) Name() string      { return "sockperf-pingpong" }
func (PingPong) Tool() string      { return "sockperf" }
func (PingPong) Sized() bool       { return true }
func (PingPong) Figures() []Figure { return latencyFigures() }

func (PingPong) Cost(m Matrix, _ Cell) time.Duration { return latencyCost(m) }

// The client reserves times for 600,000 messages a second: 14 MiB a second.
func (PingPong) memory(m Matrix) int { return 10 + clientLimit(m.Duration+latencyWarmup)*14 }

// Prepare starts a server and a stopped client for each pair.
func (PingPong) Prepare(ctx context.Context, s Setting) (Session, error) {
	r := latencyRun(s)
	if err := r.prepare(ctx, "ping-pong"); err != nil {
		return nil, err
	}
	return r, nil
}
