package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/plan"
)

// hasCaches reports whether a cache has to do with a step of the diary.
func hasCaches(d plan.Diary) bool {
	return slices.ContainsFunc(d.Sessions, func(s plan.Session) bool {
		return slices.ContainsFunc(s.Steps, func(step plan.Step) bool { return step.Cache != nil })
	})
}

// cacheWords say which page a step shows, and what of it the cache has.
func cacheWords(s plan.Step) string {
	if s.Cache == nil {
		return "-"
	}
	return fmt.Sprintf("page %d: %s", s.Cache.Page, objectWords(s.Objects()))
}

// objectWords say how many objects there are of each kind that there is.
func objectWords(o plan.Objects) string {
	var all []string
	for _, x := range []struct {
		n    int64
		what string
	}{{o.Fresh, "fresh"}, {o.Unchanged, "unchanged"}, {o.Changed, "changed"}, {o.New, "new"}} {
		if x.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return heddle.List(all)
}

// cacheFields say of a plan what caches have, a line for each behaviour.
func cacheFields(p plan.Summary) (all [][2]string) {
	for _, name := range sortedKeys(p.Caches) {
		o := p.Caches[name]
		all = append(all, [2]string{"cache", strings.Join([]string{name + ": objects " + objectWords(o), plan.FormatBytes(o.Got) + " to get",
			plan.FormatBytes(o.Saved) + " saved"}, "; ")})
	}
	return all
}
