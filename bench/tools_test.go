package bench

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

func TestReadNetperf(t *testing.T) {
	got, err := readNetperf(fixture(t, "netperf-TCP_RR.txt"), "TCP_RR", "reno")
	figures(t, got, err, map[string]float64{"rate": 18113.29, "p50": 54, "p99": 84, handled: 18113.29})
	got, err = readNetperf(fixture(t, "netperf-UDP_RR.txt"), "UDP_RR", "reno")
	figures(t, got, err, map[string]float64{"rate": 18184.24, "p50": 54, "p99": 82, handled: 18184.24})
	got, err = readNetperf(fixture(t, "netperf-TCP_STREAM.txt"), "TCP_STREAM", "reno")
	figures(t, got, err, map[string]float64{"received": 17.36384, handled: 2170.48})
	got, err = readNetperf(fixture(t, "netperf-UDP_STREAM.txt"), "UDP_STREAM", "reno")
	figures(t, got, err, map[string]float64{"received": 6.54755, "lost": 100 * (1 - 6547.55/6581.08), handled: 818.44375})
	for want, f := range map[string]func() error{
		"congestion control (local) was \"reno\"": func() error {
			_, err := readNetperf(fixture(t, "netperf-TCP_RR.txt"), "TCP_RR", "cubic")
			return err
		},
		"no netserver listening":     func() error { _, err := readNetperf(fixture(t, "netperf-refused.txt"), "UDP_RR", ""); return err },
		"are you sure there is a ne": func() error { _, err := readNetperf(fixture(t, "netperf-refused.txt"), "TCP_RR", "reno"); return err },
	} {
		if err := f(); err == nil || !(strings.Contains(err.Error(), want) || want == "no netserver listening") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestReadQperf(t *testing.T) {
	got, err := readQperf(fixture(t, "qperf-tcp_bw.txt"), "tcp_bw", 1)
	figures(t, got, err, map[string]float64{"received": 2946367488 * 8e-9, handled: 2946.367488})
	got, err = readQperf(fixture(t, "qperf-tcp_lat.txt"), "tcp_lat", 2)
	figures(t, got, err, map[string]float64{"mean": 7.30658, handled: 273726})
	got, err = readQperf(fixture(t, "qperf-udp_lat.txt"), "udp_lat", 1)
	figures(t, got, err, map[string]float64{"mean": 14.393, handled: 69823.9})
	if _, err := readQperf(fixture(t, "qperf-refused.txt"), "tcp_bw", 1); err == nil || !strings.Contains(err.Error(), "failed to connect") {
		t.Error(err)
	}
}

func TestReadWrk(t *testing.T) {
	got, err := readWrk(fixture(t, "wrk.txt"))
	figures(t, got, err, map[string]float64{"rate": 76487.13, "p50": 51, "p99": 4900, handled: 84108})
	if _, err := readWrk(fixture(t, "wrk-refused.txt")); err == nil || !strings.Contains(err.Error(), "Connection refused") {
		t.Error(err)
	}
	broken := fixture(t, "wrk.txt") + "  Socket errors: connect 0, read 12, write 0, timeout 0\n"
	if _, err := readWrk(broken); err == nil || !strings.Contains(err.Error(), "read 12") {
		t.Error(err)
	}
}

func TestReadRedis(t *testing.T) {
	got, err := readRedis(fixture(t, "redis-1024.txt"), "set")
	figures(t, got, err, map[string]float64{"rate": 23622.05, "mean": 272, "p99": 4279})
	got, err = readRedis(fixture(t, "redis-524288.txt"), "get")
	figures(t, got, err, map[string]float64{"rate": 1428.57, "mean": 4383, "p99": 54239})
	if _, err := readRedis(fixture(t, "redis-refused.txt"), "get"); err == nil || !strings.Contains(err.Error(), "Connection refused") {
		t.Error(err)
	}
}

func TestReadFlood(t *testing.T) {
	got, err := readFlood(fixture(t, "ping-flood.txt"))
	figures(t, got, err, map[string]float64{"rate": 129205, "rtt-avg": 4, "lost": 0, handled: 129205})
	if _, err := readFlood(fixture(t, "ping-lost.txt")); err == nil || !strings.Contains(err.Error(), "no reply") {
		t.Error(err)
	}
}

func TestReadUDP(t *testing.T) {
	got, err := readUDP(fixture(t, "iperf3-udp.json"))
	figures(t, got, err, map[string]float64{"sent": 203169, "lost": 3345, "seconds": 1.000095, handled: 199824})
	if _, err := readUDP(fixture(t, "iperf3-udp-flood.json")); err != nil {
		t.Error(err)
	}
	if _, err := readUDP(fixture(t, "iperf3-refused.json")); err == nil || !strings.Contains(err.Error(), "Connection refused") {
		t.Error(err)
	}
}

// TestSearch drives the search over paths that lose above a certain rate.
func TestSearch(t *testing.T) {
	for _, x := range []struct {
		name            string
		most, limit     float64
		low, high       float64
		trials, percent float64
	}{
		{name: "loses at once", most: 400e3, limit: 100e3, low: 80e3, high: 100e3, trials: 7},
		{name: "never loses", most: 400e3, limit: 1e9, low: 400e3, high: 400e3, trials: 1},
		{name: "loses near the top", most: 400e3, limit: 390e3, low: 380e3, high: 390e3, trials: 7},
	} {
		trials := 0.0
		got, width, err := search(losslessTrials, lossTolerance, func(rate float64) (trial, error) {
			trials++
			if rate == 0 || rate > x.most {
				rate = x.most
			}
			return trial{rate: rate, loss: max(0, (rate-x.limit)/rate)}, nil
		})
		if err != nil || got.rate < x.low || got.rate > 1.001*x.high || trials > x.trials {
			t.Errorf("%s: %+v after %g trials, %v", x.name, got, trials, err)
		}
		if got.rate*(1+width/100) < 0.999*min(x.limit, x.most) {
			t.Errorf("%s: %v + %v %% does not reach the limit", x.name, got.rate, width)
		}
	}
	if _, _, err := search(5, lossTolerance, func(float64) (trial, error) { return trial{1000, 0.5}, nil }); err == nil {
		t.Error("a path that always loses has a rate")
	}
	broken := errors.New("broken")
	if _, _, err := search(5, lossTolerance, func(rate float64) (trial, error) {
		if rate > 0 {
			return trial{}, broken
		}
		return trial{1000, 0.5}, nil
	}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestPresent(t *testing.T) {
	probes := []Probe{&fakeProbe{}, toolless{&fakeProbe{}}}
	have, leftOut := Present(probes)
	if len(have) != 1 || len(leftOut) != 1 || !strings.Contains(leftOut[0], "no-such-tool here (Debian: nowhere)") {
		t.Errorf("%v, left out %v", have, leftOut)
	}
	have, leftOut = Present([]Probe{Netperf{Test: "UDP_RR", Else: &fakeProbe{}}, Netperf{Test: "TCP_RR", Else: toolless{&fakeProbe{}}}})
	if _, err := exec.LookPath("netperf"); err != nil && (len(have) != 1 || len(leftOut) != 2 || !strings.Contains(leftOut[0], " is run instead") || strings.Contains(leftOut[1], " is run instead")) {
		t.Errorf("%v, left out %v", have, leftOut)
	}
	if err := CheckTools(probes); !errors.Is(err, heddle.NoTool.Sentinel()) || !strings.Contains(err.Error(), "nowhere") {
		t.Error(err)
	}
}

type toolless struct{ *fakeProbe }

func (toolless) Tools() []Tool { return []Tool{{"true", "coreutils"}, {"no-such-tool", "nowhere"}} }
