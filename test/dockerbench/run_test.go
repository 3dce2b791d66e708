// Package dockerbench measures what a network costs in 'docker run' and 'docker
// rm': no network, Docker's own bridge, a bridge and an overlay of ours, each in
// turn, so that what disturbs the machine disturbs all alike.
//
//	make bench-docker
package dockerbench

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/docker"
)

func TestMain(m *testing.M) { os.Exit(docker.Main(m)) }

// rounds is how often each network is used; HEDDLE_ROUNDS is another number.
const rounds = 20

// network is one of those compared.
type network struct {
	name, create string
	took         []time.Duration
}

// BenchmarkRun runs and removes containers that do nothing.
func BenchmarkRun(b *testing.B) {
	h := docker.New(b, 1).Hosts[0]
	all := []*network{{name: "none"}, {name: "bridge"},
		{name: "heddle-bridge", create: "bridge"}, {name: "heddle-overlay", create: "overlay"}}
	for _, n := range all {
		if n.create != "" {
			h.Docker(b, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "-o", "mode="+n.create, n.name)
		}
	}
	for round := range count(b) + 1 {
		for i := range all {
			n := all[(i+round)%len(all)]
			took := once(b, h, n.name)
			if round > 0 { // the first of each fills caches
				n.took = append(n.took, took)
			}
		}
	}
	report(all)
	for _, n := range all {
		if n.create != "" {
			h.Docker(b, "network", "rm", n.name)
		}
	}
	b.ReportMetric(0, "ns/op") // the table above is the figure
}

func count(b *testing.B) int {
	text := os.Getenv("HEDDLE_ROUNDS")
	if text == "" {
		return rounds
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("HEDDLE_ROUNDS=%s: give a number", text)
	}
	return n
}

func once(b *testing.B, h *docker.Host, network string) time.Duration {
	start := time.Now()
	id := h.Docker(b, "run", "-d", "--network", network, "box", "sleep", "1000")
	h.Docker(b, "rm", "-f", id)
	return time.Since(start)
}

// report prints medians with their quartiles, and what each costs over no network
// in the same round.
func report(all []*network) {
	fmt.Printf("docker run + rm, %d rounds, ms\n%-16s %8s %8s %8s %18s\n", len(all[0].took), "network", "p25", "p50", "p75", "over none, p50")
	for _, n := range all {
		over := make([]time.Duration, len(n.took))
		for i := range n.took {
			over[i] = n.took[i] - all[0].took[i]
		}
		fmt.Printf("%-16s %8.1f %8.1f %8.1f %18.1f\n", n.name, at(n.took, 25), at(n.took, 50), at(n.took, 75), at(over, 50))
	}
}

// at is a percentile in milliseconds.
func at(all []time.Duration, percent int) float64 {
	s := slices.Sorted(slices.Values(all))
	return s[(len(s)-1)*percent/100].Seconds() * 1000
}
