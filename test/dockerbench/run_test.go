// Package dockerbench measures what a network costs in 'docker run' and 'docker
// rm': no network, Docker's own bridge, a bridge and an overlay of ours, each in
// turn, so that what disturbs the machine disturbs all alike.
//
// Docker's bridge is there twice. On the one that dockerd makes for itself containers
// have no name resolution; on every network that a user makes dockerd starts a
// resolver in the container, with some ten iptables commands. The second is the one
// to be compared with ours.
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
	name   string
	create []string // what 'docker network create' is given, nothing for what is there
	took   []time.Duration
}

// ours are the arguments for a network of ours.
func ours(mode string) []string {
	return []string{"-d", "heddle", "--ipam-driver", "heddle", "-o", "mode=" + mode}
}

// BenchmarkRun runs and removes containers that do nothing.
func BenchmarkRun(b *testing.B) {
	h := docker.New(b, 1).Hosts[0]
	all := []*network{{name: "none"}, {name: "bridge"}, {name: "docker-bridge", create: []string{"-d", "bridge"}},
		{name: "heddle-bridge", create: ours("bridge")}, {name: "heddle-overlay", create: ours("overlay")}}
	for _, n := range all {
		if n.create != nil {
			h.Docker(b, slices.Concat([]string{"network", "create"}, n.create, []string{n.name})...)
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
		if n.create != nil {
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

// report prints medians with their quartiles, of the whole and of what each costs over
// no network in the same round.
func report(all []*network) {
	fmt.Printf("docker run + rm, %d rounds, ms\n%-16s %8s %8s %8s %17s %8s %8s\n", len(all[0].took), "network", "p25", "p50", "p75", "over none: p25", "p50", "p75")
	for _, n := range all {
		over := make([]time.Duration, len(n.took))
		for i := range n.took {
			over[i] = n.took[i] - all[0].took[i]
		}
		fmt.Printf("%-16s %8.1f %8.1f %8.1f %17.1f %8.1f %8.1f\n", n.name, at(n.took, 25), at(n.took, 50), at(n.took, 75), at(over, 25), at(over, 50), at(over, 75))
	}
}

// at is a percentile in milliseconds.
func at(all []time.Duration, percent int) float64 {
	s := slices.Sorted(slices.Values(all))
	return s[(len(s)-1)*percent/100].Seconds() * 1000
}
