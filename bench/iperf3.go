package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Iperf3 is one TCP stream per pair at full speed. Within one kernel a veth passes segments of 64
// KiB undivided. So this measures the copying of memory and the path of a segment, not of packets.
type Iperf3 struct{}

func (Iperf3) Name() string       { return "iperf3" }
func (Iperf3) Tools() []Tool      { return []Tool{toolIperf3} }
func (Iperf3) Sizes(Matrix) []int { return nil }
func (Iperf3) Figures() []Figure {
	return []Figure{
		{"received", "Gbit/s", HigherIsBetter},
		{"retransmits", "segments", LowerIsBetter},
		cost("MB"),
		{"window", "KB, the sender's largest congestion window", Informative},
	}
}

func (Iperf3) Cost(m Matrix, _ Cell) time.Duration {
	return time.Duration(wholeSeconds(m.Duration)+wholeSeconds(m.Warmup))*time.Second + 100*time.Millisecond
}

// Prepare starts a server for each pair, which ends after one test.
func (Iperf3) Prepare(ctx context.Context, s Setting) (Session, error) {
	m := s.Matrix
	seconds, omitted := wholeSeconds(m.Duration), wholeSeconds(m.Warmup)
	r := &toolRun{set: s, sums: []string{"received", "retransmits"}}
	r.client = func(p Pair) []string {
		return []string{"iperf3", "-c", p.target(), "-p", s.port(p), "-J", "-C", m.CongestionControl, "--connect-timeout", "3000",
			"-t", strconv.Itoa(seconds), "-O", strconv.Itoa(omitted)}
	}
	r.read = func(text string) (map[string]float64, error) {
		one, err := readIperf3(text, m.CongestionControl)
		if err == nil {
			one[handled] = one["received"] * 1000 / 8 * float64(seconds+omitted)
		}
		return one, err
	}
	return r, r.serve(ctx, "tcp", func(p Pair) []string { return []string{"iperf3", "-s", "-1", "-p", s.port(p)} })
}

// iperf3Result is the part of iperf3's JSON that is read. The sums leave the
// omitted seconds out.
type iperf3Result struct {
	Error string `json:"error"`
	End   struct {
		Sent struct {
			Retransmits float64 `json:"retransmits"`
		} `json:"sum_sent"`
		Received struct {
			Bits float64 `json:"bits_per_second"`
		} `json:"sum_received"`
		Congestion string `json:"sender_tcp_congestion"`
		Streams    []struct {
			Sender struct {
				Window float64 `json:"max_snd_cwnd"`
			} `json:"sender"`
		} `json:"streams"`
	} `json:"end"`
}

// readIperf3 reads a client's JSON, and checks that the stream had the requested congestion
// control. iperf3 exits with 0 on many errors.
func readIperf3(text, congestion string) (map[string]float64, error) {
	var r iperf3Result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("%w; it said: %s", err, tail(text))
	}
	switch {
	case r.Error != "":
		return nil, errors.New(r.Error)
	case r.End.Congestion != congestion:
		return nil, fmt.Errorf("congestion control was %q, not %q", r.End.Congestion, congestion)
	case r.End.Received.Bits <= 0:
		return nil, errors.New("nothing was received; it said: " + tail(text))
	}
	all := map[string]float64{"received": r.End.Received.Bits / 1e9, "retransmits": r.End.Sent.Retransmits}
	for _, stream := range r.End.Streams { // there is one stream
		all["window"] = stream.Sender.Window / 1e3
	}
	return all, nil
}
