package plan

import "slices"

// Cache says of a page what the user's browser has of it. Its objects are numbered from 0, which is the main one. Those
// that are in no list are new.
type Cache struct {
	// Page is its number at the site, by popularity, from 1. Objects 1 to Shared are the site's, and on all of its pages.
	Page   int `json:"page"`
	Shared int `json:"shared,omitempty"`
	// Fresh objects are not asked for. Unchanged ones are asked for, and the service says that they are. Changed ones are
	// asked for, and the service sends them anew.
	Fresh     []int `json:"fresh,omitempty"`
	Unchanged []int `json:"unchanged,omitempty"`
	Changed   []int `json:"changed,omitempty"`
	// Saved is the size of what is fresh or unchanged, in bytes.
	Saved int64 `json:"saved,omitempty"`
}

// Objects counts those of pages.
type Objects struct {
	Fresh     int64 `json:"fresh"`
	Unchanged int64 `json:"unchanged"`
	Changed   int64 `json:"changed"`
	New       int64 `json:"new"`
	// Saved is the size of what is fresh or unchanged, Got that of all else, in bytes.
	Saved int64 `json:"bytesSaved"`
	Got   int64 `json:"bytesGot"`
}

// Plus adds counts.
func (o Objects) Plus(p Objects) Objects {
	return Objects{plus(o.Fresh, p.Fresh), plus(o.Unchanged, p.Unchanged), plus(o.Changed, p.Changed), plus(o.New, p.New),
		plus(o.Saved, p.Saved), plus(o.Got, p.Got)}
}

// Objects counts those of the step's page; all are 0 if no cache has to do with it.
func (s Step) Objects() Objects {
	c := s.Cache
	if c == nil {
		return Objects{}
	}
	_, got := s.Bytes()
	fresh, unchanged, changed := int64(len(c.Fresh)), int64(len(c.Unchanged)), int64(len(c.Changed))
	return Objects{fresh, unchanged, changed, int64(len(s.Receives)) - unchanged - changed, c.Saved, got}
}

// Asked is what a request of a step asks for: an object of a page, both from 0. Of what is the site's, the page is 0. Known: the
// cache has a version of it, and it is Unchanged or not.
type Asked struct {
	Page, Object     int
	Known, Unchanged bool
}

// Asks lists what the requests of a step ask for. Without a cache, each step has a page of its own, whose number is given.
func (s Step) Asks(page int) []Asked {
	all := make([]Asked, 0, len(s.Receives))
	if s.Cache == nil {
		for i := range s.Receives {
			all = append(all, Asked{Page: page, Object: i})
		}
		return all
	}
	c := *s.Cache
	for i := range len(s.Receives) + len(c.Fresh) {
		if slices.Contains(c.Fresh, i) {
			continue
		}
		one := Asked{Page: c.Page, Object: i, Unchanged: slices.Contains(c.Unchanged, i)}
		one.Known = one.Unchanged || slices.Contains(c.Changed, i)
		if i > 0 && i <= c.Shared {
			one.Page = 0
		}
		all = append(all, one)
	}
	return all
}
