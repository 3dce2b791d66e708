package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Paced sends UDP over IPv4 at a fixed rate, the same in all modes, from one or many source
// ports. It reads the CPU time of both programs, which the kernel counts in nanoseconds and which
// includes the path's work in their context. The packets come from one raw socket, so that the
// sender's own cost does not depend on the number of flows.
type Paced struct {
	// Flows is the number of source ports; 1 if zero.
	Flows int
}

// manyFlows is the number of flows with which one flow is compared.
const manyFlows = 10000

// Name is udp-paced, or udp-paced-10000 with so many flows.
func (p Paced) Name() string {
	if p.Flows > 1 {
		return "udp-paced-" + strconv.Itoa(p.Flows)
	}
	return "udp-paced"
}

// Tools returns none: the sender and the receiver are this program, see Dispatch.
func (Paced) Tools() []Tool      { return nil }
func (Paced) Sizes(Matrix) []int { return []int{pacedSize} }
func (Paced) Figures() []Figure {
	return []Figure{
		{workName, "µs of both programs' CPU per packet received", LowerIsBetter},
		{"lost", "% of sent", LowerIsBetter},
		{"rate", "packets/s", Informative},
	}
}

// workName is the CPU time of both programs; costName is the whole machine's.
const workName = "work"

// pacedSize is the payload in bytes.
const pacedSize = 28

func (Paced) Cost(m Matrix, _ Cell) time.Duration { return m.Duration + 300*time.Millisecond }

// Prepare starts a receiver for each pair.
func (p Paced) Prepare(ctx context.Context, s Setting) (Session, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fail("find", "own program", err)
	}
	for _, pair := range s.Pairs {
		if !pair.Server.Addr.Is4() {
			return nil, fail("prepare", "probe "+p.Name(), errors.New("it takes IPv4"))
		}
	}
	r := &toolRun{set: s, read: readPaced, sums: []string{"rate"}}
	r.client = func(pair Pair) []string {
		return []string{self, pacedSend, pair.target(), s.port(pair), strconv.Itoa(max(1, p.Flows)), strconv.Itoa(s.Matrix.Load), s.Matrix.Duration.String()}
	}
	return pacedRun{r}, r.serve(ctx, "udp", func(pair Pair) []string { return []string{self, pacedReceive, s.port(pair)} })
}

// pacedRun adds the CPU time of the kernel's softirq threads.
type pacedRun struct{ *toolRun }

func (r pacedRun) Measure(ctx context.Context, w *Window) (map[string]float64, error) {
	threads := softirqThreads()
	before := threads.nanoseconds()
	all, err := r.toolRun.Measure(ctx, w)
	if err != nil {
		return nil, err
	}
	if w.Handled > 0 {
		all[workName] += (threads.nanoseconds() - before) / 1e3 / w.Handled
	}
	return all, nil
}

// pacedResult is what a sender prints.
type pacedResult struct {
	Sent     int     `json:"sent"`
	Received int     `json:"received"`
	Seconds  float64 `json:"seconds"`
	// CPU is the CPU time of both programs in nanoseconds.
	CPU int64 `json:"cpu"`
}

func readPaced(text string) (map[string]float64, error) {
	var r pacedResult
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("%w; it said: %s", err, tail(text))
	}
	if r.Received <= 0 || r.Sent <= 0 || r.Seconds <= 0 || r.CPU <= 0 {
		return nil, errors.New("nothing was received; it said: " + tail(text))
	}
	got := float64(r.Received)
	return map[string]float64{
		workName: float64(r.CPU) / 1e3 / got, "lost": max(0, 100*(1-got/float64(r.Sent))), "rate": float64(r.Sent) / r.Seconds, handled: got,
	}, nil
}
