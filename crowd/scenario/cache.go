package scenario

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/yamlfile"
)

// Cached is the action whose answers a browser keeps.
const Cached Action = "web.page"

// Cache is that of a person's browser, and what the pages that it keeps are made of.
type Cache struct {
	// Size is how many bytes it has room for. What was used longest ago goes first.
	Size int64
	// Pages is how many a site has. They are numbered by popularity, as sites are.
	Pages Count
	Zipf  Exponent
	// Shared is the share of a page's further objects that are the site's, and on all of its pages.
	Shared Share
	// Main is of a page's first object, More of the further ones.
	Main, More Lifetime

	given map[string]bool
}

// Lifetime is how long an object stays what it is, in nanoseconds.
type Lifetime struct {
	// Fresh is for how long it is not asked for, since it came or was last found unchanged (RFC 9111, 4.2).
	Fresh Amount
	// Changes is how long until the service has another version of it.
	Changes Amount
}

// MaxLargest is the part of a cache that one object may take: a larger one is not kept. Source: Chromium,
// net/disk_cache/simple/simple_backend_impl.cc (kMaxFileRatio).
const MaxLargest = 8

// age is how old an object gets: ten years at most.
var age = unit{parseDuration, 87_600 * 3600e9, "a duration such as 30m or 720h, up to 87600h"}

const cacheWords = "true, or some of size, pages, zipf, shared, main and more"

// UnmarshalYAML reads a cache: true, or what is other than usual.
func (c *Cache) UnmarshalYAML(n *yaml.Node) error {
	c.given = map[string]bool{}
	if n = resolve(n); n.Kind == yaml.ScalarNode && n.Value == "true" {
		return nil
	}
	all, err := entries(n, "give "+cacheWords)
	for _, e := range all {
		if err == nil {
			err = c.read(e.key, e.value)
		}
	}
	return err
}

// read reads one key.
func (c *Cache) read(key, value *yaml.Node) (err error) {
	c.given[key.Value] = true
	switch key.Value {
	case "size":
		var v float64
		v, err = size.value(value)
		c.Size = int64(v)
	case "pages":
		err = c.Pages.UnmarshalYAML(value)
	case "zipf":
		err = c.Zipf.UnmarshalYAML(value)
	case "shared":
		err = c.Shared.UnmarshalYAML(value)
	case "main":
		err = c.Main.read(value)
	case "more":
		err = c.More.read(value)
	default:
		err = yamlfile.Refuse(key, "%q is no key of a cache; give %s", heddle.Clip(key.Value), cacheWords)
	}
	return err
}

func (l *Lifetime) read(n *yaml.Node) error {
	all, err := entries(n, "give fresh or changes")
	for _, e := range all {
		if err != nil {
			break
		}
		switch e.key.Value {
		case "fresh":
			l.Fresh, err = readAge(e.value)
		case "changes":
			l.Changes, err = readAge(e.value)
		default:
			err = yamlfile.Refuse(e.key, "%q says nothing of an object; give fresh or changes", heddle.Clip(e.key.Value))
		}
	}
	return err
}

// readAge reads an amount of time that is the object's, and no person's.
func readAge(n *yaml.Node) (Amount, error) {
	a, err := age.read(n)
	if err == nil && a.PerUser > 0 {
		err = yamlfile.Refuse(n, "objects are the same for all users; take per-user out")
	}
	return a, err
}

// over returns the cache with what is not given from another.
func (c Cache) over(other Cache) Cache {
	for key, take := range map[string]func(){"size": func() { c.Size = other.Size }, "pages": func() { c.Pages = other.Pages },
		"zipf": func() { c.Zipf = other.Zipf }, "shared": func() { c.Shared = other.Shared }} {
		if !c.given[key] {
			take()
		}
	}
	for _, x := range []struct {
		own   *Amount
		other Amount
	}{{&c.Main.Fresh, other.Main.Fresh}, {&c.Main.Changes, other.Main.Changes}, {&c.More.Fresh, other.More.Fresh}, {&c.More.Changes, other.More.Changes}} {
		if !x.own.Given() {
			*x.own = x.other
		}
	}
	return c
}

// checkCaches returns what is wrong with the caches of behaviours.
func (s *Scenario) checkCaches() *problem {
	for _, name := range Sorted(s.Behaviours) {
		b := s.Behaviours[name]
		at := func(more ...string) []string { return append([]string{"behaviours", name, "cache"}, more...) }
		switch {
		case b.Cache == nil:
		case b.Script != "":
			return wrong("a script says itself what is asked for; take cache out, or give states", at()...)
		case !b.does()[Cached]:
			return wrong("none of its states does "+string(Cached)+", and nothing else is kept; take it out", at()...)
		case b.Cache.Pages == 0:
			return wrong("it is 0; give 1 or more", at("pages")...)
		case s.Services[Cached.Service()].Between > 0:
			return wrong("pages of other users are not kept; take cache out, or give service "+Cached.Service()+" sites", at()...)
		}
	}
	return nil
}

// maxKept is how much a user may have drawn of a behaviour with a cache: what came before a session is drawn again, shortly before it
// begins. Measured at nine tenths of it: 18 ms on average, on two processors that twenty others used.
const maxKept = 100_000

// checkKept refuses a behaviour with a cache of which a user would have too much drawn.
func (s *Scenario) checkKept() *problem {
	for _, name := range Sorted(s.Personas) {
		for _, does := range Sorted(s.Personas[name].Does) {
			if s.Behaviours[does].Cache == nil {
				continue
			}
			_, session := s.Behaviours[does].work()
			sessions := float64(float64(s.Personas[name].Does[does]) * time.Duration(s.Clock.Length).Hours())
			if work := float64(sessions * session); work > maxKept {
				return wrong(fmt.Sprintf("with a cache, one user would have up to %.0f states and requests drawn for each session, and has at most %d; "+
					"give a lower rate, shorter sessions, a shorter length, or take cache out of behaviour %s", work, maxKept, does), "personas", name, "does", does)
			}
		}
	}
	return nil
}
