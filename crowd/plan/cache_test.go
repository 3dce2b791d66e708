package plan_test

import (
	"cmp"
	"fmt"
	"math"
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
