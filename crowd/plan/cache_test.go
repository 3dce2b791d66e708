package plan_test

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
)

// reading is people who look at pages of one site for hours. CACHE and SITES are to be filled in.
const reading = `
crowd: reading
seed: 11
users: 60
clock: {start: "Mon 10:00", length: 4h}
services: {web: {sites: SITES, zipf: 1}}
personas: {reader: {share: 1, does: {look: 2/h}}}
behaviours:
  look:
    start: see
    CACHE
    states:
      see:
        do: web.page
        sends: 328B
        receives: {uniform: [900B, 1100B]}
        more: {count: {uniform: [0, 8]}, receives: {uniform: [100B, 9000B]}}
        expect: 1s
        connections: 2
        next: {read: 0.9, end: 0.1}
      read: {think: {exponential: 30s, max: 10m}, next: {see: 1}}
`

func readers(cache string, sites int) string {
	return strings.NewReplacer("CACHE", cache, "SITES", fmt.Sprint(sites)).Replace(reading)
}

// shown is a page of a user's diary.
type shown struct {
	plan.Step
	user int
	at   time.Duration
}

// pages are those of a plan, of each user in the order of time.
func pages(t *testing.T, text string) (all []shown) {
	t.Helper()
	for _, s := range sessions(t, parse(t, text)) {
		begins, _ := s.Begins()
		for i, step := range s.Steps {
			all = append(all, shown{step, s.User, s.Start + begins[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b shown) int {
		return cmp.Or(cmp.Compare(a.user, b.user), cmp.Compare(a.at, b.at))
	})
	return all
}

const forever = "{fresh: 87600h, changes: 87600h}"

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

// TestCacheHits: what is fresh for ever is got once; so of n visits to N pages that are as popular as each other,
// N(1-(1-1/N)^n) are new.
func TestCacheHits(t *testing.T) {
	const pagesOfSite = 40
	visits, fresh, asked, want := map[int]float64{}, 0.0, 0.0, 0.0
	for _, p := range pages(t, readers(fmt.Sprintf("cache: {pages: %d, zipf: 0, shared: 0, main: %s, more: %s}", pagesOfSite, forever, forever), 1)) {
		visits[p.user]++
		if n := len(p.Cache.Fresh); n > 0 && len(p.Receives) == 0 {
			fresh++
			if p.Connections > 0 || p.Cache.Saved == 0 {
				t.Fatalf("nothing is asked for, and %d connections are opened, %d bytes saved", p.Connections, p.Cache.Saved)
			}
		} else if n == 0 {
			asked++
		} else {
			t.Fatalf("a part of a page is fresh: %+v", p)
		}
	}
	for _, n := range visits {
		want += pagesOfSite * (1 - math.Pow(1-1.0/pagesOfSite, n))
	}
	if math.Abs(asked-want) > 0.03*want || fresh == 0 {
		t.Errorf("%v pages were new, and %v of %v are expected", asked, want, asked+fresh)
	}
}

// TestCacheAges: what is never fresh is asked for each time, and is unchanged as often as a change that comes with a mean
// of 20 minutes has not come since the page was seen last.
func TestCacheAges(t *testing.T) {
	const mean = 20 * time.Minute
	last, unchanged, changed, want := map[[2]int]time.Duration{}, 0.0, 0.0, 0.0
	for _, p := range pages(t, readers("cache: {pages: 5, shared: 0, main: {fresh: 0s, changes: {exponential: 20m}}, more: "+forever+"}", 1)) {
		key := [2]int{p.user, p.Cache.Page}
		if before, seen := last[key]; seen {
			want += math.Exp(-float64(p.at-before) / float64(mean))
			switch {
			case slices.Equal(p.Cache.Unchanged, []int{0}) && slices.Equal(p.Receives, []int64{0}):
				unchanged++
			case slices.Equal(p.Cache.Changed, []int{0}) && len(p.Receives) == 1 && p.Receives[0] >= 900 && p.Connections == 1:
				changed++
			default:
				t.Fatalf("seen again: %+v", p)
			}
		}
		last[key] = p.at
	}
	if math.Abs(unchanged-want) > 5*math.Sqrt(want) || changed < 100 {
		t.Errorf("%v were unchanged, and %v expected; %v were changed", unchanged, want, changed)
	}
}

// TestCacheFresh: an object is not asked for until it is as old as it may be, and again so long after it was found unchanged.
func TestCacheFresh(t *testing.T) {
	until, again := map[[2]int]time.Duration{}, 0
	for _, p := range pages(t, readers("cache: {pages: 3, shared: 0, main: {fresh: 10m, changes: 87600h}, more: "+forever+"}", 1)) {
		key := [2]int{p.user, p.Cache.Page}
		end, seen := until[key]
		if fresh := slices.Contains(p.Cache.Fresh, 0); fresh != (seen && p.at < end) {
			t.Fatalf("at %s, fresh until %s: %+v", p.at, end, p.Cache)
		}
		if !seen || p.at >= end {
			until[key] = p.at + 10*time.Minute
			if seen {
				again++
			}
		}
	}
	if again == 0 {
		t.Error("nothing was found unchanged")
	}
}

// TestCacheRoom: a cache of 8 KB has what was used last of pages of 1 KB, as a list that is kept by hand; and nothing of a KB in
// a smaller one, as no object takes more than an eighth.
func TestCacheRoom(t *testing.T) {
	one := strings.NewReplacer("{uniform: [900B, 1100B]}", "1000B", "more: {count: {uniform: [0, 8]}, receives: {uniform: [100B, 9000B]}}", "").Replace
	for size, keeps := range map[int]int{8000: 8, 7999: 0, 16000: 16} {
		var used []string
		user, hits := 0, 0
		for _, p := range pages(t, one(readers(fmt.Sprintf("cache: {size: %d, pages: 30, main: %s}", size, forever), 1))) {
			if p.user != user {
				user, used = p.user, nil
			}
			name := fmt.Sprint(p.Cache.Page)
			at := slices.Index(used, name)
			if fresh := len(p.Cache.Fresh) > 0; fresh != (at >= 0) {
				t.Fatalf("%d bytes: page %s is fresh: %v, of %v", size, name, fresh, used)
			}
			if at >= 0 {
				used, hits = slices.Delete(used, at, at+1), hits+1
			}
			if used = append(used, name); len(used) > keeps {
				used = used[1:]
			}
		}
		if (hits > 0) != (keeps > 0) {
			t.Errorf("%d bytes: %d hits", size, hits)
		}
	}
}

// TestCacheShared: with shared objects, a page that is new has those of other pages of its site fresh, and of no other site.
func TestCacheShared(t *testing.T) {
	most, shared := map[[2]int]int{}, 0 // how many of the site's objects the user has
	seen := map[[3]int]bool{}
	sizes := map[[3]int]int64{}
	for _, p := range pages(t, readers("cache: {pages: 100000, zipf: 0, shared: 50%, main: "+forever+", more: "+forever+"}", 3)) {
		c, key := p.Cache, [2]int{p.user, p.To}
		all := len(p.Receives) + len(c.Fresh)
		if c.Shared != (all-1+1)/2 {
			t.Fatalf("%d of %d further objects are the site's", c.Shared, all-1)
		}
		page := [3]int{p.user, p.To, c.Page}
		if seen[page] {
			continue
		}
		seen[page] = true
		if want := min(most[key], c.Shared); len(c.Fresh) != want {
			t.Fatalf("%d are fresh of %d, and the user has %d of the site's", len(c.Fresh), all, most[key])
		}
		shared += len(c.Fresh)
		most[key] = max(most[key], c.Shared)
		for i, a := range p.Asks(0) {
			if site := a.Object > 0 && a.Object <= c.Shared; site != (a.Page == 0) || !site && a.Page != c.Page || a.Known {
				t.Fatalf("%+v is asked for of %+v", a, c)
			}
			if a.Page == 0 {
				sizes[[3]int{p.user, p.To, a.Object}] = p.Receives[i]
			}
		}
		for _, i := range c.Fresh {
			if sizes[[3]int{p.user, p.To, i}] == 0 {
				t.Fatalf("object %d of site %d is fresh, and was never got", i, p.To)
			}
		}
	}
	if shared == 0 {
		t.Error("nothing was shared")
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
