package bench

import (
	"fmt"
	"strings"
)

// description says in plain words what a probe measures, and what it does not.
type description struct{ title, tells string }

var descriptions = map[string]description{
	"sockperf-throughput": {"UDP packets a second", "One-way UDP at the sender's full speed: what the receiver got. It is the cost of a packet, not of a byte."},
	"sockperf-underload":  {"Latency under a fixed load", "Open loop: messages leave at a fixed rate far below what any mode can carry, whether or not answers come. Half the round trip."},
	"sockperf-pingpong":   {"Latency, one message at a time", "No queue anywhere: the bare way there and back, halved."},
	"iperf3":              {"TCP bulk", "One TCP stream a pair. Inside one kernel segments of 64 KiB stay whole, so this is a test of copying memory and of the segment's way."},
	"sockperf-load10":     {"Latency at 10 % of the capacity", partialLoad},
	"sockperf-load50":     {"Latency at 50 % of the capacity", partialLoad},
	"sockperf-load80":     {"Latency at 80 % of the capacity", partialLoad},
	"udp-lossless":        {"UDP packets a second, almost without loss", "The highest rate of which less than 0.1 % was lost (after RFC 2544), to a few per cent."},
	"ping-flood":          {"ICMP flood", "The next echo leaves when the last has come back: the kernel's own round trips in a row."},
	"netperf-tcp-rr":      {"TCP request and response", "One byte there and one back, one at a time, over one connection (netperf TCP_RR)."},
	"netperf-udp-rr":      {"UDP request and response", "One byte there and one back, one at a time (netperf UDP_RR)."},
	"netperf-tcp-stream":  {"TCP bulk, by netperf", "netperf's TCP_STREAM: one stream a pair."},
	"netperf-udp-stream":  {"UDP bulk, by netperf", "netperf's UDP_STREAM: what the receiver got of large datagrams at the sender's full speed."},
	"qperf-tcp-bw":        {"TCP bulk, by qperf", "qperf's tcp_bw: one stream a pair."},
	"qperf-tcp-lat":       {"TCP latency, by qperf", "qperf's tcp_lat: the mean of one byte there and back, halved."},
	"qperf-udp-lat":       {"UDP latency, by qperf", "qperf's udp_lat: the mean of one byte there and back, halved."},
	"wrk":                 {"A small web page", "wrk asks nginx for a small page over connections that stay open; the clients are the same in all modes. Closed loop: a slow answer delays the next question."},
	"redis-set":           {"Redis, set", "redis-benchmark writes values over connections that stay open; the clients are the same in all modes. Closed loop."},
	"redis-get":           {"Redis, get", "redis-benchmark reads values over connections that stay open; the clients are the same in all modes. Closed loop."},
	"udp-paced":           {"CPU for a UDP packet at an equal rate", "28 bytes, from one source port, at a rate that all modes carry; what the sender and the receiver cost, with what the kernel does in their name."},
	"udp-paced-10000":     {"CPU for a UDP packet of 10,000 flows", "The same from 10,000 source ports in turn: a path that keeps state by flow costs more."},
	"attach":              {"Attach", "One container more, again and again: how long the agent takes, from the call to the answer."},
	"ping":                {"ICMP echo", "The kernel answers, no program does: the round trip without a wake-up at the far end."},
}

// partialLoad describes the probes that offer a part of the slowest mode's capacity.
const partialLoad = "Open loop at a part of what the slowest mode carries, the same for all; times count from when a message was due, so that a sender that was held up hides nothing. Half the round trip."

func descriptionOf(probe string) description {
	if s, ok := descriptions[probe]; ok {
		return s
	}
	return description{title: probe}
}

// unitOf is the unit without its explanation.
func unitOf(f Figure) string {
	unit, _, _ := strings.Cut(f.Unit, ",")
	return unit
}

// captionOf is the figure's name with its unit: "received in packets/s", "instructions per packet".
func captionOf(f Figure) string {
	unit := unitOf(f)
	switch {
	case unit == "":
		return f.Name
	case strings.HasPrefix(unit, "per "):
		return f.Name + " " + unit
	}
	return f.Name + " in " + unit
}

// quantity writes a value with its unit.
func quantity(v float64, f Figure) string {
	unit := unitOf(f)
	if strings.HasPrefix(unit, "%") {
		return number(v) + " %" + strings.TrimPrefix(unit, "%")
	}
	return strings.TrimSpace(number(v) + " " + unit)
}

var spanWords = map[string]string{SameHost: "same host", Across: "two hosts"}

func spanText(span string) string {
	if s, ok := spanWords[span]; ok {
		return s
	}
	return span
}

func wireWords(wire string) string { return "wire " + wireName(wire) }

func sizeText(bytes int) string {
	if bytes >= 1024 && bytes%1024 == 0 {
		return fmt.Sprintf("%d KiB", bytes/1024)
	}
	return fmt.Sprintf("%d B", bytes)
}

func pairsText(pairs int) string {
	if pairs == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d pairs", pairs)
}

// situationText is a cell without its mode, in words. The wire is named if there are several.
func situationText(c Cell, wires bool) string {
	var parts []string
	if c.Size > 0 {
		parts = append(parts, sizeText(c.Size))
	}
	parts = append(parts, pairsText(c.Pairs))
	if wires {
		parts = append(parts, wireWords(c.Wire))
	}
	return strings.Join(parts, " · ")
}

// cellWords name a cell in full.
func cellWords(c Cell) string {
	return fmt.Sprintf("%s, %s: %s, %s", c.Mode, spanText(c.Span), descriptionOf(c.Probe).title, situationText(c, c.Wire != ""))
}

// betterWord says in a word which direction of a figure is good.
func betterWord(f Figure) string {
	switch f.Better {
	case HigherIsBetter:
		return "more is better"
	case LowerIsBetter:
		return "less is better"
	}
	return ""
}
