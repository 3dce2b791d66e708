package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle/lazyregexp"
)

// Wrk requests a small page from an nginx of its own over kept connections. The number of
// connections is the same in all modes. wrk waits for each answer (closed loop), so its percentiles
// say nothing about a fixed load.
type Wrk struct{}

func (Wrk) Name() string       { return "wrk" }
func (Wrk) Tools() []Tool      { return []Tool{toolWrk, toolNginx} }
func (Wrk) Sizes(Matrix) []int { return nil }

// Figures are the rate, and percentiles of the times until an answer.
func (Wrk) Figures() []Figure {
	return []Figure{
		{"rate", "requests/s", HigherIsBetter},
		{"p50", "µs, closed loop", LowerIsBetter},
		{"p99", "µs, closed loop", LowerIsBetter},
		cost("request"),
	}
}

func (Wrk) Cost(m Matrix, _ Cell) time.Duration { return wholeCost(m) + 150*time.Millisecond }

// pageSize is the size of nginx's own welcome page, in bytes.
const pageSize = 612

// nginxConf configures one worker that answers from memory, logs nothing, and uses no files but its
// own.
const nginxConf = `daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path body;
  server { listen %s; location / { default_type text/html; return 200 "%s"; } }
}
`

// Prepare starts an nginx for each pair.
func (Wrk) Prepare(ctx context.Context, s Setting) (Session, error) {
	folder, err := os.MkdirTemp("", "heddle-bench")
	if err != nil {
		return nil, fail("make", "folder for nginx", err)
	}
	r := &toolRun{set: s, read: readWrk, sums: []string{"rate"}, cleanup: func() { _ = os.RemoveAll(folder) }}
	r.client = func(p Pair) []string {
		return []string{"wrk", "-t", "1", "-c", strconv.Itoa(s.Matrix.Clients), "-d", strconv.Itoa(wholeSeconds(s.Matrix.Duration)) + "s", "--latency",
			"http://" + net.JoinHostPort(p.target(), s.port(p)) + "/"}
	}
	page := strings.Repeat("heddle ", pageSize/7) + strings.Repeat(".", pageSize%7)
	for _, p := range s.Pairs {
		prefix := filepath.Join(folder, s.port(p))
		conf := fmt.Sprintf(nginxConf, net.JoinHostPort(p.anyAddress(), s.port(p)), page)
		if err := errors.Join(os.Mkdir(prefix, 0o755), os.WriteFile(filepath.Join(prefix, "nginx.conf"), []byte(conf), 0o644)); err != nil {
			r.Close()
			return nil, fail("configure", "nginx", err)
		}
	}
	return r, r.serve(ctx, "tcp", func(p Pair) []string {
		return []string{"nginx", "-e", "stderr", "-p", filepath.Join(folder, s.port(p)) + "/", "-c", "nginx.conf"}
	})
}

var (
	wrkRate    = lazyregexp.New(`Requests/sec:\s*([\d.]+)`)
	wrkTotal   = lazyregexp.New(`(\d+) requests in `)
	wrkPercent = lazyregexp.New(`(?m)^\s*(50|99)%\s+([\d.]+)(us|ms|s|m)\s*$`)
	wrkTrouble = lazyregexp.New(`(?m)^\s*(Socket errors:.*|Non-2xx.*)$`)
)

var wrkUnits = map[string]float64{"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6}

// readWrk treats any error on a socket as a failed run.
func readWrk(text string) (map[string]float64, error) {
	if trouble := wrkTrouble.FindString(text); trouble != "" {
		return nil, errors.New(strings.TrimSpace(trouble))
	}
	rate, err := numbers(wrkRate, text)
	if err != nil {
		return nil, err
	}
	total, err := numbers(wrkTotal, text)
	if err != nil {
		return nil, err
	}
	all := map[string]float64{"rate": rate[0], handled: total[0]}
	for _, found := range wrkPercent.FindAllStringSubmatch(text, -1) {
		v, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			return nil, err
		}
		all["p"+found[1]] = v * wrkUnits[found[3]]
	}
	if len(all) != 4 || total[0] == 0 {
		return nil, errors.New("no latencies; it said: " + tail(text))
	}
	return all, nil
}
