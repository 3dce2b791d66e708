package plan_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/heddle-network/heddle/crowd/plan"
)

// TestStarts: sessions that are drawn one by one, as they begin, are those of the diaries.
func TestStarts(t *testing.T) {
	s := example(t, "small")
	p := plan.New(s, nil)
	starts, err := p.Starts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var want []plan.Session
	for number := 1; number <= s.Users; number++ {
		d, err := p.User(context.Background(), number)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, d.Sessions...)
	}
	if !slices.IsSortedFunc(starts, func(a, b plan.Start) int { return int(a.At - b.At) }) || len(starts) != len(want) || len(want) < 20 {
		t.Fatalf("%d sessions, and %d in the diaries; or they are not in the order of time", len(starts), len(want))
	}
	for _, at := range starts {
		s := again(t, p, at)
		i := slices.IndexFunc(want, func(w plan.Session) bool {
			return w.User == s.User && w.Behaviour == s.Behaviour && w.Number == s.Number
		})
		if i < 0 || !reflect.DeepEqual(s, want[i]) {
			t.Fatalf("%+v is drawn as %+v", at, s)
		}
	}
}

// TestStartsOf: a crowd that grows has the plan of the larger one, whose first users have the plan that they had.
func TestStartsOf(t *testing.T) {
	s := example(t, "small")
	larger, err := s.Resize(s.Users + 15)
	if err != nil {
		t.Fatal(err)
	}
	small, large := plan.New(s, nil), plan.New(larger, nil)
	ctx := context.Background()
	want, err0 := large.Starts(ctx)
	some, err1 := small.Starts(ctx)
	more, err2 := small.StartsOf(ctx, s.Users+1, larger.Users)
	if err := errors.Join(err0, err1, err2); err != nil {
		t.Fatal(err)
	}
	if len(some) == 0 || len(more) == 0 || len(some)+len(more) != len(want) {
		t.Fatalf("%d and %d sessions, not %d", len(some), len(more), len(want))
	}
	for _, at := range slices.Concat(some, more) {
		if !slices.Contains(want, at) || !reflect.DeepEqual(again(t, small, at), again(t, large, at)) {
			t.Errorf("in a larger crowd, %+v is another session", at)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := small.StartsOf(ended, 1, s.Users); !errors.Is(err, context.Canceled) {
		t.Errorf("the context has ended: %v", err)
	}
}

// again draws the session of a start.
func again(t *testing.T, p *plan.Plan, at plan.Start) plan.Session {
	t.Helper()
	s, err := p.Session(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
