package plan_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/heddle-network/heddle/crowd/plan"
)

// TestStarts: sessions that are drawn one by one, as they begin, are those of the diaries.
func TestStarts(t *testing.T) {
	s := example(t, "small")
	p := plan.New(s)
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
		s := p.Session(at)
		i := slices.IndexFunc(want, func(w plan.Session) bool {
			return w.User == s.User && w.Behaviour == s.Behaviour && w.Number == s.Number
		})
		if i < 0 || !reflect.DeepEqual(s, want[i]) {
			t.Fatalf("%+v is drawn as %+v", at, s)
		}
	}
}
