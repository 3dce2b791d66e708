package round

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/tally"
	"github.com/heddle-network/heddle/impair"
)

// TestInvalid: a round is not valid if the crowd itself was late with anything, or lost frames.
func TestInvalid(t *testing.T) {
	slow := tally.Durations{P99: 11 * time.Millisecond}
	on := func(missed uint64) *link.Count { return &link.Count{Count: impair.Count{Frames: 9990}, Missed: missed} }
	for _, one := range []struct {
		Round
		want string
	}{
		{Round{}, ""},
		{Round{Result: tally.Result{Lag: slow}}, "p99 11ms, and 10ms is allowed"},
		{Round{Result: tally.Result{Paced: slow}}, "p99 11ms"},
		{Round{Result: tally.Result{Frames: slow}}, "p99 11ms"},
		{Round{OnLinks: on(9)}, ""},
		{Round{OnLinks: on(20)}, "20 of 10010, and one of 1000 is allowed"},
	} {
		if got := one.invalid(); !strings.Contains(got, one.want) || (got == "") != (one.want == "") {
			t.Errorf("%+v: %q, not %q", one.Round, got, one.want)
		}
	}
}

// Users are attached some at a time: each thousand is told once, and the end by another line.
func TestTellThousands(t *testing.T) {
	for all, want := range map[int][]string{
		640: nil, 2048: {"1024 users are attached"}, 2100: {"1024 users are attached", "2048 users are attached"},
	} {
		var told []string
		tell := tellThousands(all, func(line string) { told = append(told, line) })
		for n := 64; n < all; n += 64 {
			tell(n)
		}
		tell(all)
		if !slices.Equal(told, want) {
			t.Errorf("of %d: %q", all, told)
		}
	}
}
