package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Lossless finds the highest UDP rate at which less than 0.1 % is lost, in the manner of RFC
// 2544, section 26.1. The first trial is at full speed. The rate is then divided by four until a
// trial passes, and the interval between the highest rate that passed and the lowest that failed
// is halved. The trials last seconds, not a minute as in the RFC. The RFC allows no loss; on a
// shared machine, a minute without any loss is luck. iperf3 sends in bursts of a millisecond.
type Lossless struct {
	// Trials is the largest number of trials in a search; 7 if zero.
	Trials int
}

func (l Lossless) trials() int {
	if l.Trials == 0 {
		return losslessTrials
	}
	return l.Trials
}

const (
	lossTolerance  = 0.001
	losslessTrials = 7
	// leastUDP is the shortest payload that iperf3 sends.
	leastUDP = 16
)

func (Lossless) Name() string  { return "udp-lossless" }
func (Lossless) Tools() []Tool { return []Tool{toolIperf3} }

// Sizes are the sizes that iperf3 can send.
func (Lossless) Sizes(m Matrix) []int {
	var all []int
	for _, size := range m.Sizes {
		if size >= leastUDP {
			all = append(all, size)
		}
	}
	return all
}

// Figures include the width of the last interval, as a part of the rate.
func (Lossless) Figures() []Figure {
	return []Figure{
		{"rate", "packets/s, loss < 0.1 %", HigherIsBetter},
		{"lost", "% of sent", LowerIsBetter},
		{"resolution", "% of the rate", Informative},
		cost("packet"),
	}
}

func (l Lossless) Cost(m Matrix, _ Cell) time.Duration {
	return time.Duration(l.trials()) * (wholeCost(m) + 200*time.Millisecond)
}

// Prepare starts a server for each pair, which serves all trials.
func (l Lossless) Prepare(ctx context.Context, s Setting) (Session, error) {
	if s.Cell.Size < leastUDP {
		return nil, fail("prepare", "probe udp-lossless", fmt.Errorf("iperf3 sends no less than %d bytes", leastUDP))
	}
	r := &toolRun{set: s, read: readUDP, sums: []string{"sent", "lost", "seconds"}}
	return &losslessRun{r, l.trials()}, r.serve(ctx, "tcp", func(p Pair) []string { return []string{"iperf3", "-s", "-p", s.port(p)} })
}

type losslessRun struct {
	*toolRun
	trials int
}

// trial is the rate of one trial over all pairs, and the part that was lost.
type trial struct{ rate, loss float64 }

// Measure returns the window of the best trial.
func (r *losslessRun) Measure(ctx context.Context, w *Window) (map[string]float64, error) {
	var best trial
	found, width, err := search(r.trials, lossTolerance, func(rate float64) (trial, error) {
		own := Window{machines: machineWindow{read: w.machines.read}}
		t, err := r.trial(ctx, &own, rate)
		if err == nil && (t.loss < lossTolerance && t.rate > best.rate || w.Seconds == 0) {
			best, *w = t, own
		}
		return t, err
	})
	if err != nil {
		return nil, err
	}
	return map[string]float64{"rate": found.rate, "lost": 100 * found.loss, "resolution": width}, nil
}

// trial offers a rate in packets per second over all pairs; 0 is full speed.
func (r *losslessRun) trial(ctx context.Context, w *Window, rate float64) (trial, error) {
	s := r.set
	bits := strconv.FormatFloat(rate/float64(len(s.Pairs))*float64(s.Cell.Size)*8, 'f', 0, 64)
	r.client = func(p Pair) []string {
		return []string{"iperf3", "-c", p.target(), "-p", s.port(p), "-u", "-J", "--connect-timeout", "3000",
			"-b", bits, "-l", strconv.Itoa(s.Cell.Size), "-t", strconv.Itoa(wholeSeconds(s.Matrix.Duration))}
	}
	all, err := r.toolRun.Measure(ctx, w)
	if err != nil {
		return trial{}, err
	}
	return trial{rate: all["sent"] / all["seconds"] * float64(len(s.Pairs)), loss: all["lost"] / all["sent"]}, nil
}

// search returns the fastest trial that passed, and the distance to the slowest trial that failed,
// in per cent of that trial's rate. The first trial, at full speed (rate 0), bounds the interval.
// The rate that was sent counts; it may be below the requested rate.
func search(trials int, tolerance float64, try func(rate float64) (trial, error)) (best trial, width float64, err error) {
	ceiling, err := try(0)
	if err != nil {
		return best, 0, err
	}
	if ceiling.loss < tolerance {
		return ceiling, 0, nil
	}
	high := ceiling.rate
	for range trials - 1 {
		next := (best.rate + high) / 2
		if best.rate == 0 {
			next = high / 4
		}
		t, err := try(next)
		switch {
		case err != nil:
			return best, 0, err
		case t.loss < tolerance && t.rate > best.rate:
			best = t
		case t.loss < tolerance:
			// The sender cannot send faster.
			return best, 0, nil
		default:
			high = min(high, max(t.rate, best.rate))
		}
	}
	if best.rate == 0 {
		return best, 0, fmt.Errorf("no trial of %d lost less than %g %%, down to %.0f packets/s", trials, 100*tolerance, high)
	}
	return best, 100 * (high - best.rate) / best.rate, nil
}

type udpResult struct {
	Error string `json:"error"`
	End   struct {
		Sum struct {
			Seconds float64 `json:"seconds"`
			Packets float64 `json:"packets"`
			Lost    float64 `json:"lost_packets"`
		} `json:"sum"`
	} `json:"end"`
}

// readUDP reads a client's JSON. Reordered packets may count as lost and then as received, so the
// loss can be below zero.
func readUDP(text string) (map[string]float64, error) {
	var r udpResult
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("%w; it said: %s", err, tail(text))
	}
	switch sum := r.End.Sum; {
	case r.Error != "":
		return nil, errors.New(r.Error)
	case sum.Packets <= 0 || sum.Seconds <= 0:
		return nil, errors.New("nothing was sent; it said: " + tail(text))
	default:
		lost := max(0, sum.Lost)
		return map[string]float64{"sent": sum.Packets, "lost": lost, "seconds": sum.Seconds, handled: max(0, sum.Packets-lost)}, nil
	}
}
