package bench

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// roundTrip is one answered message of a full log, in seconds.
type roundTrip struct{ sent, received float64 }

// readFullLog reads the lines "number, txTime, rxTime, latency".
func readFullLog(text string) ([]roundTrip, error) {
	var all []roundTrip
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ", ")
		if len(f) != 4 {
			continue
		}
		if _, err := strconv.Atoi(f[0]); err != nil {
			continue // the heading, or the summary above it
		}
		sent, err1 := strconv.ParseFloat(f[1], 64)
		received, err2 := strconv.ParseFloat(f[2], 64)
		switch {
		case err1 != nil || err2 != nil || !(received >= sent) || math.IsInf(received-sent, 0):
			return nil, fmt.Errorf("a line of the log: %q", strings.TrimSpace(line))
		case len(all) > 0 && !(sent >= all[len(all)-1].sent):
			return nil, fmt.Errorf("the log goes back in time: %q", strings.TrimSpace(line))
		}
		all = append(all, roundTrip{sent, received})
	}
	if len(all) == 0 {
		return nil, errors.New("the log holds no message")
	}
	return all, nil
}

// scheduleParts is the number of parts of a run that have their own origin of the schedule:
// sockperf's cycle is rounded down to whole ticks, and drifts by some microseconds in a second.
const scheduleParts = 8

// delays returns how late each message was sent, in seconds. The schedule has a slot every period;
// lost messages leave gaps in it. From the end backwards, each message gets the latest free slot
// that is not in its future. So a burst after a stall fills the slots of the stall. The origin of
// each part is that of its most punctual message.
func delays(all []roundTrip, period float64) []float64 {
	slot := math.Inf(1)
	late := make([]float64, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		// Half a period of tolerance: the first message may itself be late.
		slot = min(slot-1, math.Floor((all[i].sent-all[0].sent)/period+0.5))
		late[i] = all[i].sent - all[0].sent - slot*period
	}
	for part := range scheduleParts {
		here := late[part*len(late)/scheduleParts : (part+1)*len(late)/scheduleParts]
		if len(here) == 0 {
			continue
		}
		origin := here[0]
		for _, v := range here {
			origin = min(origin, v)
		}
		for i := range here {
			here[i] -= origin
		}
	}
	return late
}

// readUnderLoad combines the summary and the full log of one client, which sent rate messages a
// second, of which every every-th was answered. A latency is the sender's delay plus half of the
// round trip.
func readUnderLoad(summary, log string, rate, every int) (map[string]float64, error) {
	dropped, err := numbers(droppedLine, summary)
	if err != nil {
		return nil, err
	}
	all, err := readFullLog(log)
	if err != nil {
		return nil, fmt.Errorf("%w; it said: %s", err, tail(summary))
	}
	late := delays(all, float64(every)/float64(rate))
	oneWay := make([]float64, len(all))
	for i, x := range all {
		late[i] *= 1e6
		oneWay[i] = late[i] + (x.received-x.sent)/2*1e6
	}
	oneWay = sorted(oneWay)
	figures := map[string]float64{
		"p50": quantile(oneWay, 0.5), "p99": quantile(oneWay, 0.99), "p99.9": quantile(oneWay, 0.999),
		"late": quantile(sorted(late), 0.99), "dropped": dropped[0], "observations": float64(len(all)),
	}
	if len(all) < minObservations {
		delete(figures, "p99.9")
	}
	return figures, nil
}
