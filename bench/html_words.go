package bench

import (
	"fmt"
	"strings"
)

// story says in plain words what a probe measures, and what it does not.
type story struct{ title, tells string }

var stories = map[string]story{
	"sockperf-throughput": {"UDP packets a second", "One-way UDP at the sender's full speed: what the receiver got. It is the cost of a packet, not of a byte."},
	"sockperf-underload":  {"Latency under a fixed load", "Open loop: messages leave at a fixed rate far below what any mode can carry, whether or not answers come. Half the round trip."},
	"sockperf-pingpong":   {"Latency, one message at a time", "No queue anywhere: the bare way there and back, halved."},
	"iperf3":              {"TCP bulk", "One TCP stream a pair. Inside one kernel segments of 64 KiB stay whole, so this is a test of copying memory and of the segment's way."},
	"ping":                {"ICMP echo", "The kernel answers, no program does: the round trip without a wake-up at the far end."},
}

func storyOf(probe string) story {
	if s, ok := stories[probe]; ok {
		return s
	}
	return story{title: probe}
}

// unitOf is the unit without its explanation.
func unitOf(f Figure) string {
	unit, _, _ := strings.Cut(f.Unit, ",")
	return unit
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

func wireText(wire string) string {
	if wire == "" {
		return "plain wire"
	}
	return "wire " + wire
}

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

// situation is a cell without its mode, in words; the wire is named where there
// are several.
func situationText(c Cell, wires bool) string {
	var parts []string
	if c.Size > 0 {
		parts = append(parts, sizeText(c.Size))
	}
	parts = append(parts, pairsText(c.Pairs))
	if wires {
		parts = append(parts, wireText(c.Wire))
	}
	return strings.Join(parts, " · ")
}

// cellWords name a cell in full.
func cellWords(c Cell) string {
	return fmt.Sprintf("%s, %s: %s, %s", c.Mode, spanText(c.Span), storyOf(c.Probe).title, situationText(c, c.Wire != ""))
}

// betterWord says which way a figure is good, in a word.
func betterWord(f Figure) string {
	switch f.Better {
	case HigherIsBetter:
		return "more is better"
	case LowerIsBetter:
		return "less is better"
	}
	return ""
}
