package hardship_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/world"
)

// startPing pings the endpoint's addresses of both families from a pod, fifty
// times a second.
func startPing(t testing.TB, pod string, to heddle.Endpoint) (end func()) {
	t.Helper()
	end = world.Netns{Name: pod, Path: "/run/netns/" + pod}.Stream(t, 20*time.Millisecond, addressesOf(to)...)
	time.Sleep(100 * time.Millisecond)
	return end
}

func clip(s string) string { return s[:min(len(s), 2000)] }

// kernelState dumps what the kernel holds for us and for others: links,
// addresses, routes, rules, neighbours, firewall; here and in the pods. Neighbours
// are sorted, since their order depends on other tests' (neigh_hash_grow in
// net/core/neighbour.c).
func kernelState(t testing.TB) string {
	t.Helper()
	const dump = `ip -o link; ip -o addr; ip route show table all; ip -6 route show table all; ip rule; ip neigh show nud permanent | sort; nft -s list ruleset`
	return cell.Sh(t, dump+`
		for n in $(ip netns list | cut -d' ' -f1); do echo "== $n"; ip netns exec $n sh -c '`+dump+`'; done`)
}

// unchanged fails the test if the kernel is no more as it was; what settles by
// itself (the state of a link, duplicate address detection) gets its time.
func unchanged(t testing.TB, before string) {
	t.Helper()
	now := ""
	poll.Until(30*time.Second, 100*time.Millisecond, poll.True(func() bool {
		now = kernelState(t)
		return now == before
	}))
	if now != before {
		t.Errorf("the kernel has changed:\n%s", difference(before, now))
	}
}

// settled is the kernel's state once it has come to rest.
func settled(t testing.TB) string {
	t.Helper()
	now := ""
	poll.Until(time.Minute, 200*time.Millisecond, poll.True(func() bool {
		last := now
		now = kernelState(t)
		return now == last && !strings.Contains(now, "tentative")
	}))
	return now
}

// difference shows which lines have changed, and which are at another place.
func difference(before, after string) string {
	return clip(cmp.Diff(slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))))
}
