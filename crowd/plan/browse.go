package plan

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// browser is what a user's browser has, at one moment of a plan, and knows of pages that it has shown.
type browser struct {
	laws  scenario.Cache
	pages map[pageName][]int64 // the sizes of its objects
	sites map[int][]int64      // those of the objects that all pages of a site have
	kept  *kept
}

// pageName names a page of a site, both from 1.
type pageName struct{ site, page int }

// showing is a page that is going to be shown.
type showing struct {
	step *Step
	at   time.Duration // since the crowd began
	// lives draws how long the objects last.
	lives *draw.Stream
}

// browse has a user's sessions of a behaviour find in the browser's cache what earlier pages have left there. The sessions
// are in the order of time, among others. Only what is asked for changes by it: who begins what when is the same without a cache.
func (p *Plan) browse(behaviour string, sessions []Session) {
	laws := *p.scenario.Behaviours[behaviour].Cache
	var all []showing
	for _, s := range sessions {
		if s.Behaviour != behaviour {
			continue
		}
		pages, lives := p.cacheStream(s, "pages"), p.cacheStream(s, "cache")
		begins, _ := s.Begins()
		for i := range s.Steps {
			if step := &s.Steps[i]; step.Do == scenario.Cached && step.Mistake == "" && step.Every == 0 {
				step.Cache = &Cache{Page: p.pages[behaviour].Rank(pages) + 1}
				all = append(all, showing{step, s.Start + begins[i], lives})
			}
		}
	}
	// Two sessions at one time take turns.
	slices.SortStableFunc(all, func(a, b showing) int { return cmp.Compare(a.at, b.at) })
	b := browser{laws: laws, pages: map[pageName][]int64{}, sites: map[int][]int64{}, kept: newKept(laws.Size)}
	for _, one := range all {
		b.show(one)
	}
	for i := range sessions {
		if sessions[i].Behaviour == behaviour {
			sessions[i].connectLess()
		}
	}
}

// cacheStream is a session's for what has to do with a cache.
func (p *Plan) cacheStream(s Session, what string) *draw.Stream {
	names := []string{userName(s.User), s.Behaviour, what, strconv.Itoa(s.Number)}
	if s.Event > 0 {
		names = []string{userName(s.User), s.Behaviour, what + " gathered", gatherName(p.scenario.Events[s.Event-1])}
	}
	return draw.NewStream(p.scenario.Seed, names...)
}

// show shows a page: what is not there, or not good any more, is asked for. The answers are those that are planned, unless
// the page was there before, or its site's objects were.
func (b *browser) show(one showing) {
	step, c := one.step, one.step.Cache
	name := pageName{step.To, c.Page}
	sizes, seen := b.pages[name]
	if !seen {
		sizes = step.Receives
	}
	c.Shared = int(float64(float64(b.laws.Shared)*float64(len(sizes)-1)) + 0.5)
	if !seen {
		b.settle(step.To, sizes[1:1+c.Shared])
		b.pages[name] = sizes
	}
	step.Receives = nil
	for i, size := range sizes {
		of := objectName{name, i}
		if i > 0 && i <= c.Shared {
			of.page = 0
		}
		o := b.kept.use(of)
		switch {
		case o != nil && one.at < o.freshUntil:
			c.Fresh, c.Saved = append(c.Fresh, i), c.Saved+size
			continue
		case o != nil && one.at < o.changes:
			c.Unchanged, c.Saved = append(c.Unchanged, i), c.Saved+size
			o.freshUntil = later(one.at, o.fresh)
			step.Receives = append(step.Receives, 0)
			continue
		case o != nil:
			c.Changed = append(c.Changed, i)
		}
		step.Receives = append(step.Receives, size)
		law := b.laws.More
		if i == 0 {
			law = b.laws.Main
		}
		fresh := time.Duration(law.Fresh.Draw(one.lives, 1))
		b.kept.put(of, object{size: size, fresh: fresh, freshUntil: later(one.at, fresh), changes: later(one.at, time.Duration(law.Changes.Draw(one.lives, 1)))})
	}
}

// settle has a page's objects that are the site's be as large as those of the pages before.
func (b *browser) settle(site int, sizes []int64) {
	known := b.sites[site]
	n := copy(sizes, known)
	b.sites[site] = append(known, sizes[n:]...)
}

// later is a time and a duration more, or the last time there is.
func later(at, more time.Duration) time.Duration { return time.Duration(plus(int64(at), int64(more))) }

// connectLess opens no connection for which there is nothing to ask. If it was to be kept, the next step that asks opens it.
func (s *Session) connectLess() {
	owed := map[string]int{}
	for i := range s.Steps {
		step := &s.Steps[i]
		service := step.Do.Service()
		switch {
		case step.Cache != nil && len(step.Receives) == 0:
			if step.Keep {
				owed[service] = step.Connections
			}
			step.Connections, step.Keep = 0, false
		case step.Connections == 0 && owed[service] > 0 && step.Mistake == "":
			step.Connections, step.Keep = owed[service], true
			delete(owed, service)
		case step.Cache != nil && !step.Keep:
			step.Connections = min(step.Connections, len(step.Receives))
		case step.Keep:
			delete(owed, service)
		}
	}
}
