package ipam

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// most is the number of addresses of a /16 that are given out.
const most = 1<<16 - 3

func sixteen(t testing.TB) *Pool {
	n, err := Check(heddle.Network{Name: "web", Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}})
	if err != nil {
		t.Fatal(err)
	}
	return NewPool(n)
}

func names() []heddle.EndpointID {
	all := make([]heddle.EndpointID, most)
	for i := range all {
		all[i] = heddle.EndpointID{Container: fmt.Sprintf("container-%05d", i), IfName: "eth0"}
	}
	return all
}

// work takes an address for every id and returns the steps it took.
func work(t testing.TB, p *Pool, ids []heddle.EndpointID) uint64 {
	before := p.families[0].steps
	for _, id := range ids {
		if _, err := p.Take(id, nil); err != nil {
			t.Fatal(err)
		}
	}
	return p.families[0].steps - before
}

// The last 1,000 addresses of a /16 may cost at most 1.2 times the first 1,000, and so may 1,000
// that are reused.
func TestWorkIsFlat(t *testing.T) {
	p, ids := sixteen(t), names()
	first := work(t, p, ids[:1000])
	work(t, p, ids[1000:most-1000])
	last := work(t, p, ids[most-1000:])
	for i := range 1000 {
		p.Give(ids[i*61])
	}
	var again []heddle.EndpointID
	for i := range 1000 {
		again = append(again, ids[i*61])
	}
	reused := work(t, p, again)
	t.Logf("steps of 1,000 takes: first %d, last %d, reused %d", first, last, reused)
	for _, steps := range []uint64{last, reused} {
		if steps*10 > first*12 {
			t.Errorf("%d steps, more than 1.2 times the first %d", steps, first)
		}
	}
}

// Leases in the ring's way are passed once, not once for every allocation.
func TestWorkPastLeasesIsAmortised(t *testing.T) {
	p, ids := sixteen(t), names()
	a := netip.MustParseAddr("10.0.0.2")
	for _, id := range ids[:most-1000] {
		if err := p.Restore(id, []netip.Prefix{netip.PrefixFrom(a, 16)}); err != nil {
			t.Fatal(err)
		}
		a = a.Next()
	}
	if steps := work(t, p, ids[most-1000:]); steps > 2*most {
		t.Errorf("%d steps for %d leases", steps, most)
	}
	for range 10 {
		p.Give(ids[0])
		if steps := work(t, p, ids[:1]); steps > 2 {
			t.Errorf("%d steps for one address in a full pool", steps)
		}
	}
}

// A /64 always has fresh addresses, so its queue must not grow forever.
func TestVastLaneForgets(t *testing.T) {
	n, err := Check(heddle.Network{Name: "web", Subnets: []netip.Prefix{netip.MustParsePrefix("fd20::/64")}})
	if err != nil {
		t.Fatal(err)
	}
	p, id := NewPool(n), heddle.EndpointID{Container: "a", IfName: "eth0"}
	want := netip.MustParseAddr("fd20::2")
	for range maxRemembered + 1000 {
		lease, err := p.Take(id, nil)
		if err != nil || lease[0].Addr() != want {
			t.Fatalf("got %v, %v, want %s", lease, err, want)
		}
		p.Give(id)
		want = want.Next()
	}
	l := p.families[0]
	if len(l.freed.where) != maxRemembered || l.freed.order.Len() != maxRemembered {
		t.Errorf("%d freed addresses are remembered, want %d", l.freed.order.Len(), maxRemembered)
	}
	if oldest, _ := l.freed.oldest(); oldest != netip.MustParseAddr("fd20::3ea") {
		t.Errorf("the oldest remembered is %s", oldest)
	}
}

// BenchmarkSixteen fills a /16 and compares the time of the first 1,000 takes
// with that of the last, by their medians.
func BenchmarkSixteen(b *testing.B) {
	ids := names()
	var first, last []time.Duration
	for b.Loop() {
		p := sixteen(b)
		first = append(first, timed(b, p, ids[:1000]))
		work(b, p, ids[1000:most-1000])
		last = append(last, timed(b, p, ids[most-1000:]))
	}
	slices.Sort(first)
	slices.Sort(last)
	middle := len(first) / 2
	b.ReportMetric(float64(first[middle])/1000, "ns/first")
	b.ReportMetric(float64(last[middle])/1000, "ns/last")
	b.ReportMetric(float64(last[middle])/float64(first[middle]), "last/first")
}

func timed(b *testing.B, p *Pool, ids []heddle.EndpointID) time.Duration {
	start := time.Now()
	work(b, p, ids)
	return time.Since(start)
}

// BenchmarkTakeGive uses the last address of a full /16 again and again.
func BenchmarkTakeGive(b *testing.B) {
	p, ids := sixteen(b), names()
	work(b, p, ids)
	i := 0
	for b.Loop() {
		p.Give(ids[i%most])
		if _, err := p.Take(ids[i%most], nil); err != nil {
			b.Fatal(err)
		}
		i += 7919
	}
}

// BenchmarkSixtyFour takes and gives in a /64, which nothing may iterate over.
func BenchmarkSixtyFour(b *testing.B) {
	n, err := Check(heddle.Network{Name: "web", Subnets: []netip.Prefix{netip.MustParsePrefix("fd20::/64")}})
	if err != nil {
		b.Fatal(err)
	}
	p, id := NewPool(n), heddle.EndpointID{Container: "a", IfName: "eth0"}
	for b.Loop() {
		if _, err := p.Take(id, nil); err != nil {
			b.Fatal(err)
		}
		p.Give(id)
	}
}
