package bench

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Redis sets or gets values of one size in a redis-server of its own that keeps nothing on disk.
// The number of clients is the same in all modes: a comparison that gives one mode more clients
// measures the clients. Each client waits for its answer (closed loop).
type Redis struct{ Command string }

// Name is redis-set or redis-get.
func (r Redis) Name() string       { return "redis-" + r.Command }
func (Redis) Tools() []Tool        { return []Tool{toolRedisLoad, toolRedis} }
func (Redis) Sizes(m Matrix) []int { return m.Values }

// A server holds one value, and one more for each client that reads it.
func (Redis) memory(m Matrix) int  { return 16 + m.Clients*2 }
func (Redis) sleep() time.Duration { return 0 }

// Figures are the rate, and the time until an answer.
func (Redis) Figures() []Figure {
	return []Figure{
		{"rate", "requests/s", HigherIsBetter},
		{"mean", "µs, closed loop", LowerIsBetter},
		{"p99", "µs, closed loop", LowerIsBetter},
		cost("request"),
	}
}

// redisTrial returns how many requests are used to find the speed, 32 MiB at most:
// redis-benchmark takes a number of requests, not a time.
func redisTrial(size int) int { return min(400, max(50, 32<<20/max(1, size))) }

func (Redis) Cost(m Matrix, _ Cell) time.Duration { return m.Duration + 600*time.Millisecond }

// Prepare starts a server for each pair.
func (r Redis) Prepare(ctx context.Context, s Setting) (Session, error) {
	t := &toolRun{set: s, sums: []string{"rate"}}
	t.read = func(text string) (map[string]float64, error) { return readRedis(text, r.Command) }
	err := t.serve(ctx, "tcp", func(p Pair) []string {
		return []string{"redis-server", "--port", s.port(p), "--bind", p.anyAddress(), "--save", "", "--appendonly", "no", "--protected-mode", "no", "--daemonize", "no"}
	})
	return &redisRun{t, r.Command}, err
}

type redisRun struct {
	*toolRun
	command string
}

// Measure runs a trial, which also fills the key that is read. Then it runs as many requests as
// take the wanted time at that speed.
func (r *redisRun) Measure(ctx context.Context, w *Window) (map[string]float64, error) {
	least := redisTrial(r.set.Cell.Size)
	requests := least
	load := func(commands string) func(Pair) []string {
		return func(p Pair) []string {
			return []string{"redis-benchmark", "-h", p.target(), "-p", r.set.port(p), "-c", strconv.Itoa(r.set.Matrix.Clients),
				"-n", strconv.Itoa(requests), "-d", strconv.Itoa(r.set.Cell.Size), "-t", commands, "--csv", "--precision", "3"}
		}
	}
	r.client = load("set," + r.command)
	trial, err := r.toolRun.Measure(ctx, w)
	if err != nil {
		return nil, err
	}
	perClient := trial["rate"] / float64(len(r.set.Pairs))
	requests = max(least, int(perClient*r.set.Matrix.Duration.Seconds()))
	r.client = load(r.command)
	all, err := r.toolRun.Measure(ctx, w)
	w.Handled = float64(requests * len(r.set.Pairs))
	return all, err
}

// readRedis reads the line of one command from the CSV. Times in it are in milliseconds.
func readRedis(text, command string) (map[string]float64, error) {
	at := strings.Index(text, `"test"`)
	if at < 0 {
		return nil, errors.New("no table; it said: " + tail(text))
	}
	lines, err := csv.NewReader(strings.NewReader(text[at:])).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%w; it said: %s", err, tail(text))
	}
	for _, line := range lines[1:] {
		if !strings.EqualFold(line[0], command) {
			continue
		}
		all := map[string]float64{}
		for i, name := range lines[0] {
			figure, unit := map[string]string{"rps": "rate", "avg_latency_ms": "mean", "p99_latency_ms": "p99"}[name], 1000.0
			if figure == "" {
				continue
			}
			if figure == "rate" {
				unit = 1
			}
			v, err := strconv.ParseFloat(line[i], 64)
			if err != nil || !(v >= 0) {
				return nil, fmt.Errorf("%s is %q; it said: %s", name, line[i], tail(text))
			}
			all[figure] = v * unit
		}
		if len(all) == 3 && all["rate"] > 0 {
			return all, nil
		}
	}
	return nil, errors.New("no line of " + command + "; it said: " + tail(text))
}
