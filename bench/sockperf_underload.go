package bench

import (
	"context"
	"strconv"
	"time"
)

// replyEvery is which of the messages under load are answered, and so timed:
// every second one gives enough observations for a p99.9 in half a second.
const replyEvery = 2

// UnderLoad is latency while a fixed load, far below what any path saturates
// at, is offered open-loop. The load is that of all pairs together.
type UnderLoad struct{}

func (UnderLoad) Name() string      { return "sockperf-underload" }
func (UnderLoad) Tool() string      { return "sockperf" }
func (UnderLoad) Sized() bool       { return true }
func (UnderLoad) Figures() []Figure { return latencyFigures() }

func (UnderLoad) Cost(m Matrix, _ Cell) time.Duration { return latencyCost(m) }

// A client and a server take 5 MiB each, and the times of the messages.
func (UnderLoad) memory(m Matrix) int {
	return 10 + clientLimit(m.Duration+latencyWarmup)*m.Load*24>>20
}

// Prepare starts a server and a stopped client for each pair.
func (UnderLoad) Prepare(ctx context.Context, s Setting) (Session, error) {
	r := latencyRun(s)
	rate := strconv.Itoa(s.Matrix.Load / len(s.Pairs))
	if err := r.prepare(ctx, "under-load", "--mps", rate, "--reply-every", strconv.Itoa(replyEvery)); err != nil {
		return nil, err
	}
	return r, nil
}
