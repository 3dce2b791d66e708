package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// UnderLoad is the latency while a load is offered open-loop: the fixed load of the matrix, far
// below the saturation of any path, or a part of the capacity of the slowest mode. The load is that
// of all pairs together.
//
// sockperf's sender keeps a schedule: the next message is due one cycle after the last one was due,
// not after it was sent, and the sender waits for no reply (SwitchOnCycleDuration in its
// switches.h). But the time stamp of a message is the time when it is sent. A message that is sent
// late, because the sender's core was busy, would look fast. So the times are read from the full
// log, and counted from when each message was due.
type UnderLoad struct {
	sleepingClient
	// Percent is the load in percent of the slowest mode's capacity; 0 means the matrix's fixed
	// load.
	Percent int
}

// Name is sockperf-underload, or sockperf-load50 for a half of the capacity.
func (u UnderLoad) Name() string {
	if u.Percent == 0 {
		return "sockperf-underload"
	}
	return fmt.Sprintf("sockperf-load%d", u.Percent)
}

func (UnderLoad) Tools() []Tool        { return []Tool{toolSockperf} }
func (UnderLoad) Sizes(m Matrix) []int { return m.Sizes }

// Figures include the offered load, since it differs between runs of the bench.
func (UnderLoad) Figures() []Figure {
	return append(latencyFigures("from when it was due"),
		Figure{"late", "µs, p99 of the sender's delay", Informative}, Figure{"offered", "messages/s", Informative})
}

func (UnderLoad) onePair() string {
	return "the senders spin between messages and would wait for each other on their core"
}

func (UnderLoad) Cost(m Matrix, _ Cell) time.Duration { return latencyCost(m) }

// A client and a server take 5 MiB each, plus the times of the messages.
func (UnderLoad) memory(m Matrix) int {
	return 10 + clientLimit(m.Duration+latencyWarmup)*observationsPerSecond*48>>20
}

// observationsPerSecond is for one client. It is enough for a p99.9 within half a second, and few
// enough that the replies add little to the load.
const observationsPerSecond = 4000

// Prepare starts a server and a stopped client for each pair.
func (u UnderLoad) Prepare(ctx context.Context, s Setting) (Session, error) {
	rate := s.Load
	if rate < 1 {
		return nil, fail("prepare", "probe "+u.Name(), fmt.Errorf("the capacity of no mode is known: all runs of the capacity round failed"))
	}
	folder, err := os.MkdirTemp("", "heddle-bench")
	if err != nil {
		return nil, fail("make", "folder for the log", err)
	}
	log := func(i int) string { return filepath.Join(folder, strconv.Itoa(i)) }
	every := max(2, rate/observationsPerSecond)
	r := latencyRun(s)
	r.perClient = func(i int) []string { return []string{"--full-log", log(i)} }
	r.cleanup = func() { _ = os.RemoveAll(folder) }
	r.read = func(i int, client, _ string) (map[string]float64, error) {
		text, err := os.ReadFile(log(i))
		if err != nil {
			return nil, err
		}
		all, err := readUnderLoad(client, string(text), rate, every)
		if err == nil {
			all["offered"] = float64(rate)
		}
		return all, err
	}
	if err := r.prepare(ctx, "under-load", "--mps", strconv.Itoa(rate), "--reply-every", strconv.Itoa(every)); err != nil {
		return nil, err
	}
	return r, nil
}
