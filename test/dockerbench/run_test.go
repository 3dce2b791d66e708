// Package dockerbench measures what a network costs in 'docker run' and 'docker
// rm': no network, Docker's own bridge, a bridge and an overlay of ours, each in
// turn, so that what disturbs the machine disturbs all alike.
//
// Docker's bridge is there twice. On the one that dockerd makes for itself containers
// have no name resolution; on every network that a user makes dockerd starts a
// resolver in the container, with some ten iptables commands. The second is the one
// to be compared with ours.
//
// A container on an overlay has a second link, to docker_gwbridge, unless that is left
// out. To be compared with it is a container on two of Docker's bridges; dockerd is told
// so in more commands, so that no network is there in as many, too.
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
	// second is another network that the container is connected with before it starts;
	// "none" for no more than as many commands.
	second string
	// over is the index of the one that it is compared with.
	over int
	took []time.Duration
}

// ours are the arguments for a network of ours.
func ours(mode string, options ...string) []string {
	return append([]string{"-d", "heddle", "--ipam-driver", "heddle", "-o", "mode=" + mode}, options...)
}

// compared are the networks, those without one first.
func compared() []*network {
	return []*network{{name: "none"}, {name: "none", second: "none", over: 1}, {name: "bridge"},
		{name: "docker-bridge", create: []string{"-d", "bridge"}},
		{name: "docker-second", create: []string{"-d", "bridge"}, second: "docker-bridge", over: 1},
		{name: "heddle-bridge", create: ours("bridge")},
		{name: "heddle-overlay", create: ours("overlay")},
		{name: "overlay-alone", create: ours("overlay", "-o", "gwbridge=false")}}
}

// BenchmarkRun runs and removes containers that do nothing.
func BenchmarkRun(b *testing.B) {
	h := docker.New(b, 1).Hosts[0]
	all := compared()
	for _, n := range all {
		if n.create != nil {
			h.Docker(b, slices.Concat([]string{"network", "create"}, n.create, []string{n.name})...)
		}
	}
	for round := range count(b) + 1 {
		for i := range all {
			n := all[(i+round)%len(all)]
			took := n.once(b, h)
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

func (n *network) once(b *testing.B, h *docker.Host) time.Duration {
	start := time.Now()
	var id string
	if n.second == "" {
		id = h.Docker(b, "run", "-d", "--network", n.name, "box", "sleep", "1000")
	} else {
		id = h.Docker(b, "create", "--network", n.name, "box", "sleep", "1000")
		if n.second == "none" {
			h.Docker(b, "network", "inspect", "none")
		} else {
			h.Docker(b, "network", "connect", n.second, id)
		}
		h.Docker(b, "start", id)
	}
	h.Docker(b, "rm", "-f", id)
	return time.Since(start)
}

func (n *network) label() string {
	switch n.second {
	case "":
		return n.name
	case "none":
		return n.name + ", 4 commands"
	}
	return n.name + " + " + n.second
}

// report prints medians with their quartiles, of the whole and of what each costs over
// no network in the same round.
func report(all []*network) {
	fmt.Printf("docker run + rm, %d rounds, ms\n%-30s %8s %8s %8s %17s %8s %8s\n", len(all[0].took), "network", "p25", "p50", "p75", "over none: p25", "p50", "p75")
	for _, n := range all {
		over := make([]time.Duration, len(n.took))
		for i := range n.took {
			over[i] = n.took[i] - all[n.over].took[i]
		}
		fmt.Printf("%-30s %8.1f %8.1f %8.1f %17.1f %8.1f %8.1f\n", n.label(), at(n.took, 25), at(n.took, 50), at(n.took, 75), at(over, 25), at(over, 50), at(over, 75))
	}
}

// at is a percentile in milliseconds.
func at(all []time.Duration, percent int) float64 {
	s := slices.Sorted(slices.Values(all))
	return s[(len(s)-1)*percent/100].Seconds() * 1000
}
