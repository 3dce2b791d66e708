package hardship_test

import (
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// startPing pings the endpoint's addresses of both families from a pod, fifty
// times a second.
func startPing(t testing.TB, pod string, to heddle.Endpoint) (end func()) {
	t.Helper()
	end = world.Place{Name: pod, Path: "/run/netns/" + pod}.Stream(t, 20*time.Millisecond, addressesOf(to)...)
	time.Sleep(100 * time.Millisecond)
	return end
}

func clip(s string) string { return s[:min(len(s), 2000)] }

// kernelState dumps what the kernel holds for us and for others: links,
// addresses, routes, rules, neighbours, firewall; here and in the pods.
func kernelState(t testing.TB) string {
	t.Helper()
	const dump = `ip -o link; ip -o addr; ip route show table all; ip -6 route show table all; ip rule; ip neigh show nud permanent; nft -s list ruleset`
	return cell.Sh(t, dump+`
		for n in $(ip netns list | cut -d' ' -f1); do echo "== $n"; ip netns exec $n sh -c '`+dump+`'; done`)
}

// unchanged fails the test if the kernel is no more as it was; what settles by
// itself (the state of a link, duplicate address detection) gets its time.
func unchanged(t testing.TB, before string) {
	t.Helper()
	now := ""
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if now = kernelState(t); now == before {
			return
		}
	}
	t.Errorf("the kernel has changed:\n%s", difference(before, now))
}

// settled is the kernel's state once it has come to rest.
func settled(t testing.TB) string {
	t.Helper()
	last := kernelState(t)
	for range 40 {
		time.Sleep(200 * time.Millisecond)
		now := kernelState(t)
		if now == last && !strings.Contains(now, "tentative") {
			return now
		}
		last = now
	}
	return last
}

func difference(before, after string) string {
	lines := func(s string) map[string]bool {
		all := map[string]bool{}
		for l := range strings.Lines(s) {
			all[l] = true
		}
		return all
	}
	old, now, out := lines(before), lines(after), ""
	for l := range old {
		if !now[l] {
			out += "- " + l
		}
	}
	for l := range now {
		if !old[l] {
			out += "+ " + l
		}
	}
	return clip(out)
}
