package plan_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
)

// TestCacheChangesNothingElse: who comes when, for how long, and what is new, is the same as without a cache.
func TestCacheChangesNothingElse(t *testing.T) {
	before := pages(t, readers("", 3))
	after := pages(t, readers("cache: {shared: 0}", 3))
	whole := 0
	for i, b := range before {
		a, c := after[i], after[i].Cache
		if len(a.Receives)+len(c.Fresh) == len(a.Receives) && len(c.Unchanged)+len(c.Changed) == 0 {
			if !reflect.DeepEqual(a.Receives, b.Receives) {
				t.Fatalf("a new page is %v, and %v without a cache", a.Receives, b.Receives)
			}
			whole++
		}
		a.Receives, a.Cache, a.Connections = b.Receives, b.Cache, b.Connections
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v, and %+v without a cache", a, b)
		}
	}
	if len(before) != len(after) || whole == 0 || whole == len(before) {
		t.Errorf("%d pages, %d without a cache, %d new", len(after), len(before), whole)
	}
}

// TestCacheAgain: a session that is drawn alone is the one of the diary; one more user, more time and another behaviour with a
// cache move nothing; and each machine draws what this one drew when the test was written.
func TestCacheAgain(t *testing.T) {
	text := readers("cache: {size: 60KB, main: {fresh: {uniform: [0s, 10m]}, changes: {exponential: 5m}}}", 20)
	s := parse(t, text)
	p := plan.New(s, nil)
	starts, err := p.StartsOf(t.Context(), 1, 12)
	if err != nil || len(starts) == 0 {
		t.Fatal(err)
	}
	for _, at := range starts {
		one, err := p.Session(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if all := diary(t, p, int(at.User)).Sessions; !slices.ContainsFunc(all, func(s plan.Session) bool { return reflect.DeepEqual(s, one) }) {
			t.Fatalf("session %d of user %d, drawn alone, is another", one.Number, one.User)
		}
	}
	whole, sum := drawn(t, s)
	const want = "e2a13faf1b62660dc06166e192582b159ca58f5e9b0556f395eda9863232806a"
	if sum.SHA256 != want {
		t.Errorf("the sum is %s, not %s", sum.SHA256, want)
	}
	more, err := s.Resize(61)
	if err != nil {
		t.Fatal(err)
	}
	if larger, _ := drawn(t, more); !strings.HasPrefix(larger, whole) {
		t.Error("with one more user, others have something else in their caches")
	}
	for old, changed := range map[string]string{"{look: 2/h}": "{look: 2/h, browse: 3/h}", "length: 4h": "length: 5h", "behaviours:": "behaviours:\n  browse: {cache: true}"} {
		other := strings.Replace(text, old, changed, 1)
		if strings.Contains(changed, "cache") {
			other = strings.Replace(other, "{look: 2/h}", "{look: 2/h, browse: 3/h}", 1)
		}
		after := plan.New(parse(t, other), nil)
		for user := 1; user <= 12; user++ {
			var kept []plan.Session
			for _, one := range diary(t, after, user).Sessions {
				if one.Steps = until(one, 4*time.Hour); one.Behaviour == "look" && one.Start < 4*time.Hour && len(one.Steps) > 0 {
					kept = append(kept, one)
				}
			}
			if !reflect.DeepEqual(kept, diary(t, p, user).Sessions) {
				t.Errorf("with %q, user %d has something else in the cache", changed, user)
			}
		}
	}
}

// TestCacheForecast: a plan counts what is asked for, and says what is not.
func TestCacheForecast(t *testing.T) {
	want, requests := plan.Objects{}, 0
	for _, p := range pages(t, readers("cache: true", 3)) {
		want, requests = want.Plus(p.Objects()), requests+len(p.Receives)
	}
	_, sum := drawn(t, parse(t, readers("cache: true", 3)))
	if got := sum.Caches["look"]; got != want || got.Fresh == 0 || sum.Total.Requests != int64(requests) || sum.Total.Received != want.Got ||
		want.New+want.Changed+want.Unchanged != int64(requests) {
		t.Errorf("%+v, and %+v of the diaries; %+v", got, want, sum.Total)
	}
	if _, without := drawn(t, parse(t, readers("", 3))); len(without.Caches) > 0 || without.Total.Requests <= sum.Total.Requests || without.Total.Received <= sum.Total.Received {
		t.Errorf("without a cache: %+v", without.Total)
	}
}

// TestCacheKeeps: a connection that would be kept, and for which there is nothing to ask, is opened by the next step that asks.
func TestCacheKeeps(t *testing.T) {
	text := strings.NewReplacer("connections: 2\n        next: {read", "connections: 2\n        keep: true\n        next: {more", "read: {think", "more: {do: web.page, receives: 1KB, expect: 1s, connections: 0, next: {read: 1}}\n      read: {think").
		Replace(readers("cache: {pages: 3, main: {fresh: 5m, changes: 10m}, more: "+forever+"}", 1))
	moved := 0
	for _, s := range sessions(t, parse(t, text)) {
		open := 0
		for i, step := range s.Steps {
			switch {
			case len(step.Receives) == 0 && (step.Connections > 0 || step.Keep):
				t.Fatalf("nothing is asked for over %d connections", step.Connections)
			case len(step.Receives) > 0 && step.Connections == 0 && open == 0:
				t.Fatalf("step %d of %+v asks over a connection that is not there", i, s)
			case len(step.Receives) == 1 && step.Connections == 2 && step.Keep && i > 0 && len(s.Steps[i-1].Receives) == 0:
				moved++
			}
			if step.Keep {
				open += step.Connections
			}
		}
	}
	if moved == 0 {
		t.Error("no step opened what one before had not")
	}
}
