package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Iperf3 is one TCP stream per pair at full speed. Inside one kernel a veth
// carries 64 KiB segments uncut, so this is a test of copying memory and of the
// segment's path, not of packets.
type Iperf3 struct{}

func (Iperf3) Name() string { return "iperf3" }
func (Iperf3) Tool() string { return "iperf3" }
func (Iperf3) Sized() bool  { return false }
func (Iperf3) Figures() []Figure {
	return []Figure{
		{"received", "Gbit/s", HigherIsBetter},
		{"retransmits", "segments", LowerIsBetter},
	}
}

func (Iperf3) Cost(m Matrix, _ Cell) time.Duration {
	return time.Duration(wholeSeconds(m.Duration)+wholeSeconds(m.Warmup))*time.Second + 100*time.Millisecond
}

// Prepare starts a server for each pair, which ends after one test.
func (Iperf3) Prepare(ctx context.Context, s Setting) (Session, error) {
	r := &iperf3Run{set: s}
	for _, p := range s.Pairs {
		server, err := s.server(p, "iperf3", "-s", "-1", "-p", s.port(p))
		if err == nil {
			r.all = append(r.all, server)
			err = listening(ctx, s, p, server, "tcp")
		}
		if err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

type iperf3Run struct {
	set Setting
	all []*child
}

func (r *iperf3Run) Close() {
	for _, c := range r.all {
		c.kill()
	}
}

// Measure starts all clients and adds up what their servers received.
func (r *iperf3Run) Measure(ctx context.Context, w *Window) (map[string]float64, error) {
	m := r.set.Matrix
	var clients []*child
	w.Open()
	for _, p := range r.set.Pairs {
		c, err := r.set.client(p, "iperf3", "-c", p.target(), "-p", r.set.port(p), "-J", "-C", m.CongestionControl, "--connect-timeout", "3000",
			"-t", strconv.Itoa(wholeSeconds(m.Duration)), "-O", strconv.Itoa(wholeSeconds(m.Warmup)))
		if err != nil {
			return nil, err
		}
		clients, r.all = append(clients, c), append(r.all, c)
	}
	for _, c := range clients {
		if err := c.wait(ctx); err != nil {
			return nil, err
		}
	}
	w.Close()
	sum := map[string]float64{}
	for _, c := range clients {
		one, err := readIperf3(c.out.String(), m.CongestionControl)
		if err != nil {
			return nil, fail("read", c.what, err)
		}
		add(sum, one)
	}
	return sum, nil
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
	} `json:"end"`
}

// readIperf3 reads a client's JSON, and checks that the stream had the
// congestion control asked for. iperf3 exits with 0 on many errors.
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
	return map[string]float64{"received": r.End.Received.Bits / 1e9, "retransmits": r.End.Sent.Retransmits}, nil
}
