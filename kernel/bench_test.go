package kernel

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/bridge"
	"github.com/heddle-network/heddle/mode/routed"
	"github.com/heddle-network/heddle/test/cell"
)

// BenchmarkAttach applies one more endpoint's plan beside 10 and 1,000 others, in an existing
// container's namespace that is opened for it, as the agent does. Nothing is removed within the
// measured time.
func BenchmarkAttach(b *testing.B) {
	for _, s := range []scenario{
		newScenario(b, "bridge", bridge.Mode{}, nil, 0),
		newScenario(b, "routed", routed.Mode{}, nil, 0),
	} {
		for _, others := range []int{10, 1000} {
			b.Run(fmt.Sprintf("%s-%d", s.name, others), func(b *testing.B) {
				r := newRoom(b)
				r.apply(s.netPlan)
				for i := range others {
					r.apply(s.hostPart(i))
				}
				measureAttach(b, r, s, others)
			})
		}
	}
}

// hostPart is an endpoint whose container is the host itself: as costly to the
// host as any, and without a namespace for each.
func (s scenario) hostPart(i int) heddle.Plan {
	p := s.endpoint(i)
	for j, l := range p.Host.Links {
		if l.PeerInPod {
			p.Host.Links[j].PeerInPod, p.Host.Links[j].Peer = false, fmt.Sprintf("far%d", i)
		}
	}
	p.Pod = heddle.State{}
	return p
}

func measureAttach(b *testing.B, r *room, s scenario, i int) {
	// What the endpoint shares with the previous one stays, too.
	plan, neighbour := s.endpoint(i), s.hostPart(i-1)
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		pod, err := OpenNetns(r.podNS.path)
		cell.Must(b, err)
		_, err = r.k.Apply(plan, pod)
		cell.Must(b, err)
		pod.Close()
		times = append(times, time.Since(start))
		b.StopTimer()
		cell.Must(b, r.k.Remove(plan, r.podNS, func(key string) bool { return contains(s.netPlan, key) || contains(neighbour, key) }))
		b.StartTimer()
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkDiff compares the union of 2,000 endpoints' plans.
func BenchmarkDiff(b *testing.B) {
	r := newRoom(b)
	s := newScenario(b, "routed", routed.Mode{}, nil, 0)
	r.apply(s.netPlan)
	var all heddle.Plan
	all.Host, _ = all.Host.Union(s.netPlan.Host)
	for i := range 2000 {
		p := s.hostPart(i)
		r.apply(p)
		all.Host.Links = append(all.Host.Links, p.Host.Links...)
		all.Host.Sysctls = append(all.Host.Sysctls, p.Host.Sysctls...)
		all.Host.Elements = append(all.Host.Elements, p.Host.Elements...)
		all.Host.Addresses = append(all.Host.Addresses, p.Host.Addresses...)
		all.Host.Neighbours = append(all.Host.Neighbours, p.Host.Neighbours...)
		all.Host.Routes = append(all.Host.Routes, p.Host.Routes...)
	}
	for b.Loop() {
		diff, err := r.k.Diff(all, nil)
		cell.Must(b, err)
		if len(diff) > 0 {
			b.Fatal(diff[0])
		}
	}
	b.ReportMetric(float64(len(all.Host.Objects())), "objects")
}
