package bench

import (
	"context"
	"fmt"
	"time"
)

// Throughput is one-way UDP at the sender's full speed: messages per second
// that the server program received, and the part that was lost.
type Throughput struct{ sleepingClient }

func (Throughput) Name() string         { return "sockperf-throughput" }
func (Throughput) Tools() []Tool        { return []Tool{toolSockperf} }
func (Throughput) Sizes(m Matrix) []int { return m.Sizes }
func (Throughput) Figures() []Figure {
	return []Figure{
		{"received", "packets/s", HigherIsBetter},
		{"lost", "% of sent", LowerIsBetter},
		{"sent", "packets/s", Informative},
		cost("packet received"),
	}
}

func (Throughput) Cost(m Matrix, _ Cell) time.Duration { return m.Duration + drain + stopCost }

// A client and a server take 5 MiB each.
func (Throughput) memory(Matrix) int { return 10 }

// Prepare starts a server and a stopped client for each pair.
func (Throughput) Prepare(ctx context.Context, s Setting) (Session, error) {
	r := &sockperfRun{set: s, duration: s.Matrix.Duration, sums: []string{"received", "sent"}, finish: addLoss}
	r.read = func(_ int, client, server string) (map[string]float64, error) { return readThroughput(client, server) }
	if err := r.prepare(ctx, "throughput"); err != nil {
		return nil, err
	}
	return r, nil
}

// readThroughput divides both counts by the client's own time.
func readThroughput(client, server string) (map[string]float64, error) {
	sent, err := numbers(sentLine, client)
	if err != nil {
		return nil, err
	}
	got, err := numbers(handledLine, server)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if sent[1] <= 0 {
		return nil, fmt.Errorf("a run of %v s; it said: %s", sent[1], tail(client))
	}
	return map[string]float64{"received": got[0] / sent[1], "sent": sent[0] / sent[1], handled: got[0]}, nil
}

func addLoss(all map[string]float64) {
	if all["sent"] > 0 {
		// The server may have counted one message more than the client.
		all["lost"] = max(0, 100*(1-all["received"]/all["sent"]))
	}
}
