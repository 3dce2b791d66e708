package scenario_test

import (
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/scenario"
)

const surfing = `crowd: surfing
users: 5
clock: {start: "Mon 10:00", length: 1h}
services: {web: {sites: 3}}
personas: {one: {share: 100%, does: {browse: 2/h, stay: 1/h, play: 1/h}}}
behaviours:
  browse: {cache: true}
  stay: {start: in, states: {in: {do: chat.connect, expect: 1s, next: {end: 1}}}}
  play: {actions: [web.page], steps: 3, script: "#!/bin/sh"}
`

// TestCache: a behaviour that is built in may be given a cache, and no more; what a cache does not say is the usual.
func TestCache(t *testing.T) {
	read := func(cache string) scenario.Behaviour {
		t.Helper()
		s, err := scenario.Parse([]byte(strings.Replace(surfing, "cache: true", "cache: "+cache, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return s.Behaviours["browse"]
	}
	usual := read("true")
	if c := usual.Cache; !usual.BuiltIn || usual.Start != "visit" || len(usual.States) != 3 || c.Size != 320<<20 || c.Pages != 25 || c.Zipf != 1 || c.Shared != 0.5 ||
		!c.Main.Fresh.Given() || !c.Main.Changes.Given() || c.More.Changes.Law != (draw.Exponential{MeanValue: float64(5494 * time.Hour)}) {
		t.Errorf("%+v", c)
	}
	if c := read("{size: 9MB, shared: 0, main: {fresh: 3m}}").Cache; c.Size != 9e6 || c.Shared != 0 || c.Pages != 25 || c.Main.Fresh.Law != draw.Constant(3*time.Minute) ||
		c.Main.Changes != usual.Cache.Main.Changes || c.More.Changes != usual.Cache.More.Changes {
		t.Errorf("%+v", c)
	}
	if c := read("{zipf: 0, pages: 1, more: {changes: 1s}}").Cache; c.Zipf != 0 || c.Pages != 1 || c.Size != 320<<20 || c.More.Changes.Law != draw.Constant(time.Second) {
		t.Errorf("%+v", c)
	}
	without, err := scenario.Parse([]byte(strings.Replace(surfing, "  browse: {cache: true}\n", "", 1)))
	if err != nil || without.Behaviours["browse"].Cache != nil {
		t.Errorf("%v: who does not ask for a cache has one: %+v", err, without.Behaviours["browse"].Cache)
	}
}

// TestCacheRefused: what is wrong with a cache is told with its line and key.
func TestCacheRefused(t *testing.T) {
	for _, c := range []struct{ old, changed, want string }{
		{"cache: true", "cache: false", "line 7, behaviours.browse.cache: it is no mapping; give true, or some of size"},
		{"cache: true", "cache: {sizes: 3MB}", `line 7, behaviours.browse.cache.sizes: "sizes" is no key of a cache; give true, or some of size, pages`},
		{"cache: true", "cache: {size: 3MB, size: 4MB}", `line 7, behaviours.browse.cache.size: "size" is given twice`},
		{"cache: true", "cache: {size: {uniform: [1, 2]}}", "line 7, behaviours.browse.cache.size: it is not a number of bytes"},
		{"cache: true", "cache: {pages: 0}", "line 7, behaviours.browse.cache.pages: it is 0; give 1 or more"},
		{"cache: true", "cache: {shared: 120%}", `line 7, behaviours.browse.cache.shared: "120%" is not a share`},
		{"cache: true", "cache: {main: 3m}", "line 7, behaviours.browse.cache.main: it is no mapping; give fresh or changes"},
		{"cache: true", "cache: {more: {stale: 3m}}", `line 7, behaviours.browse.cache.more.stale: "stale" says nothing of an object`},
		{"cache: true", "cache: {main: {fresh: 11000d}}", `line 7, behaviours.browse.cache.main.fresh: "11000d" is not a duration such as 30m or 720h`},
		{"cache: true", "cache: {main: {fresh: {exponential: 3m, per-user: 1}}}", "line 7, behaviours.browse.cache.main.fresh: objects are the same for all users"},
		{"start: in,", "cache: true, start: in,", "line 8, behaviours.stay.cache: none of its states does web.page"},
		{"steps: 3,", "steps: 3, cache: true,", "line 9, behaviours.play.cache: a script says itself what is asked for"},
		{"sites: 3", "between: 5", "line 7, behaviours.browse.cache: pages of other users are not kept"},
		{"browse: 2/h", "browse: 5/m", "line 5, personas.one.does.browse: with a cache, one user would have up to"},
		{"  browse: {cache: true}", "  serve: {cache: true}", "line 7, behaviours.serve"},
	} {
		_, err := scenario.Parse([]byte(strings.Replace(surfing, c.old, c.changed, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nnot %s", c.changed, err, c.want)
		}
	}
}
