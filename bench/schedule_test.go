package bench

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// schedule makes exchanges of a sender that is due every millisecond and was
// stopped from message 400 for some messages; every message takes 20 µs.
func schedule(n, stalled int, lost func(int) bool) (all []roundTrip) {
	free := 0.0
	for i := range n {
		due := 5 + float64(i)*0.001
		sent := max(due, free)
		if i == 400 {
			sent = due + float64(stalled)*0.001
		}
		free = sent + 1e-6
		if !lost(i) {
			all = append(all, roundTrip{sent, sent + 40e-6})
		}
	}
	return all
}

func TestDelays(t *testing.T) {
	none := func(int) bool { return false }
	for name, lost := range map[string]func(int) bool{
		"whole": none, "a lost message": func(i int) bool { return i == 300 || i == 1500 },
		"the last third is lost": func(i int) bool { return i > 1400 },
	} {
		late := delays(schedule(2000, 50, lost), 0.001)
		sum := 0.0
		for _, v := range late {
			sum += v
		}
		// Message 400 is 50 ms late, the next a millisecond less, and so on.
		if want := 0.001 * 50 * 51 / 2; math.Abs(sum-want) > 0.05*want {
			t.Errorf("%s: the delays add up to %v s, want %v", name, sum, want)
		}
		if v := late[100]; v > 1e-6 {
			t.Errorf("%s: a punctual message is %v s late", name, v)
		}
	}
	// Without correction the stall would hide: each message took 20 µs.
	log := "packet, txTime(sec), rxTime(sec), latency(usec)\n"
	for i, x := range schedule(2000, 50, none) {
		log += fmt.Sprintf("%d, %.9f, %.9f, %.3f\n", i, x.sent, x.received, 20.0)
	}
	got, err := readUnderLoad("dropped messages = 0", log, 1000, 1)
	if err != nil || math.Abs(got["p50"]-20) > 1 || got["p99"] < 20000 || got["p99.9"] < got["p99"] {
		t.Errorf("%v, %v", got, err)
	}
}

func TestReadUnderLoad(t *testing.T) {
	text := fixture(t, "sockperf-full.csv")
	got, err := readUnderLoad(text, text, 33333, 7)
	if err != nil {
		t.Fatal(err)
	}
	if got["observations"] != 1101 || got["dropped"] != 441 || got["p50"] < 501 || got["p50"] > got["p99"] || got["late"] > got["p99.9"] {
		t.Errorf("%v", got)
	}
	for want, log := range map[string]string{
		"no message":   "dropped messages = 1\npacket, txTime\n",
		"back in time": "0, 2.0, 2.1, 3\n1, 1.0, 1.1, 3\n",
		"a line of":    "0, 2.0, NaN, 3\n",
	} {
		if _, err := readUnderLoad("dropped messages = 1", log, 1000, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", log, err)
		}
	}
}
