package resolver

import (
	"fmt"
	"slices"
	"testing"

	"github.com/heddle-network/heddle/resolver/process"
)

// TestDeniedAreRecent: what is told is of two periods, of few containers, those with most first.
func TestDeniedAreRecent(t *testing.T) {
	all := newAccounts(DefaultLimits)
	all.of("quiet")
	all.of("old").denied.tooFast.add()
	all.nextPeriod()
	for n := range 2 * maxDenied {
		for range n + 1 {
			all.of(fmt.Sprintf("c%02d", n)).denied.waiting.add()
		}
	}
	got := all.denied()
	if len(got) != maxDenied || got[0] != (process.Denied{Container: "c39", Waiting: 40}) || got[maxDenied-1].Waiting != 21 {
		t.Errorf("the first ones are %+v", got)
	}
	all.keep(map[string]bool{"quiet": true, "old": true, "c03": true})
	want := []process.Denied{{Container: "c03", Waiting: 4}, {Container: "old", TooFast: 1}}
	if got := all.denied(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	all.nextPeriod()
	all.of("old").denied.noWayOut.add()
	want[1] = process.Denied{Container: "old", NoWayOut: 1}
	if got := all.denied(); !slices.Equal(got, want) {
		t.Errorf("a period later: %+v, want %+v", got, want)
	}
	all.nextPeriod()
	if got := all.denied(); !slices.Equal(got, want[1:]) {
		t.Errorf("another period later: %+v, want %+v", got, want[1:])
	}
}
