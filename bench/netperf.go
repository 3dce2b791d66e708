package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle/lazyregexp"
)

// Netperf is one of netperf's tests: TCP_RR and UDP_RR exchange one byte at a time, TCP_STREAM and
// UDP_STREAM send at full speed. netperf counts whole round trips. With Sized it sends messages of
// the matrix's sizes.
type Netperf struct {
	Test  string
	Sized bool
	// Else measures nearly the same with a tool that is free software; nil if there is none.
	Else Probe
}

// Name is netperf-tcp-rr and so on.
func (n Netperf) Name() string {
	return "netperf-" + strings.ReplaceAll(strings.ToLower(n.Test), "_", "-")
}

func (Netperf) Tools() []Tool { return []Tool{toolNetperf, toolNetserver} }
func (Netperf) twoPorts()     {}

// Sizes are the sizes of requests and responses, or of single sends.
func (n Netperf) Sizes(m Matrix) []int {
	if n.Sized {
		return m.Sizes
	}
	return nil
}

// messages are netperf's options for the size.
func (n Netperf) messages(size int) []string {
	switch bytes := strconv.Itoa(size); {
	case !n.Sized:
		return nil
	case n.rr():
		return []string{"-r", bytes + "," + bytes}
	default:
		return []string{"-m", bytes}
	}
}

func (n Netperf) rr() bool { return strings.HasSuffix(n.Test, "_RR") }

// Figures are a rate and percentiles of the round trip, or the received rate.
func (n Netperf) Figures() []Figure {
	switch {
	case n.rr():
		return []Figure{
			{"rate", "transactions/s", HigherIsBetter},
			{"p50", "µs, round trip", LowerIsBetter},
			{"p99", "µs, round trip", LowerIsBetter},
			cost("transaction"),
		}
	case n.Test == "UDP_STREAM":
		return []Figure{{"received", "Gbit/s", HigherIsBetter}, {"lost", "% of sent", LowerIsBetter}, cost("MB")}
	}
	return []Figure{{"received", "Gbit/s", HigherIsBetter}, cost("MB")}
}

func (Netperf) Cost(m Matrix, _ Cell) time.Duration { return wholeCost(m) }

// wholeCost is the cost of tools that accept only whole seconds.
func wholeCost(m Matrix) time.Duration {
	return time.Duration(wholeSeconds(m.Duration))*time.Second + 100*time.Millisecond
}

const netperfFigures = "THROUGHPUT,LOCAL_SEND_THROUGHPUT,REMOTE_RECV_THROUGHPUT,ELAPSED_TIME,P50_LATENCY,P99_LATENCY,LOCAL_CONG_CONTROL,REMOTE_CONG_CONTROL"

// Prepare starts a netserver for each pair.
func (n Netperf) Prepare(ctx context.Context, s Setting) (Session, error) {
	r := &toolRun{set: s, sums: []string{"rate", "received", "sent"}}
	r.client = func(p Pair) []string {
		argv := []string{"netperf", p.family(), "-H", p.target(), "-p", s.port(p), "-t", n.Test, "-l", strconv.Itoa(wholeSeconds(s.Matrix.Duration)), "-j", "-P", "0",
			"--", "-P", "," + s.secondPort(p), "-k", netperfFigures}
		argv = append(argv, n.messages(s.Cell.Size)...)
		if strings.HasPrefix(n.Test, "TCP") {
			argv = append(argv, "-K", s.Matrix.CongestionControl)
		}
		return argv
	}
	r.read = func(text string) (map[string]float64, error) {
		return readNetperf(text, n.Test, s.Matrix.CongestionControl)
	}
	return r, r.serve(ctx, "tcp", func(p Pair) []string { return []string{"netserver", "-D", p.family(), "-p", s.port(p)} })
}

var netperfLine = lazyregexp.New(`(?m)^([A-Z0-9_]+)=(.*)$`)

// readNetperf reads the KEY=VALUE lines of an omni test. Its throughput is in transactions or in
// 10^6 bits a second.
func readNetperf(text, test, congestion string) (map[string]float64, error) {
	values := map[string]string{}
	for _, line := range netperfLine.FindAllStringSubmatch(text, -1) {
		values[line[1]] = strings.TrimSpace(line[2])
	}
	var bad error
	number := func(key string) float64 {
		v, err := strconv.ParseFloat(values[key], 64)
		if (err != nil || !(v >= 0)) && bad == nil {
			bad = fmt.Errorf("no %s; it said: %s", key, tail(text))
		}
		return v
	}
	if strings.HasPrefix(test, "TCP") {
		for _, side := range []string{"LOCAL", "REMOTE"} {
			if has := values[side+"_CONG_CONTROL"]; has != congestion {
				return nil, fmt.Errorf("congestion control (%s) was %q, not %q; it said: %s", strings.ToLower(side), has, congestion, tail(text))
			}
		}
	}
	all := map[string]float64{}
	seconds := number("ELAPSED_TIME")
	switch test {
	case "TCP_RR", "UDP_RR":
		all["rate"], all["p50"], all["p99"] = number("THROUGHPUT"), number("P50_LATENCY"), number("P99_LATENCY")
		all[handled] = all["rate"] * seconds
	default:
		received, sent := number("REMOTE_RECV_THROUGHPUT"), number("LOCAL_SEND_THROUGHPUT")
		all["received"], all[handled] = received/1000, received/8*seconds
		if test == "UDP_STREAM" && sent > 0 {
			all["lost"] = max(0, 100*(1-received/sent))
		}
	}
	return all, bad
}
