package tally

// Objects are those of pages, of a behaviour whose users have a cache. They are counted with pages that came whole.
type Objects struct {
	// Fresh were not asked for. Unchanged were asked for, and the service said that they are. Changed and New were sent.
	Fresh     int64 `json:"fresh"`
	Unchanged int64 `json:"unchanged"`
	Changed   int64 `json:"changed"`
	New       int64 `json:"new"`
	// Saved is the size of what was fresh or unchanged, Got that of what was sent, in bytes.
	Saved int64 `json:"bytesSaved"`
	Got   int64 `json:"bytesGot"`
}

// Plus adds counts.
func (o Objects) Plus(p Objects) Objects {
	return Objects{o.Fresh + p.Fresh, o.Unchanged + p.Unchanged, o.Changed + p.Changed, o.New + p.New, o.Saved + p.Saved, o.Got + p.Got}
}

// All is how many there are.
func (o Objects) All() int64 { return o.Fresh + o.Unchanged + o.Changed + o.New }

// Hits is the share of the objects whose content the cache had; ok is false if there are none.
func (o Objects) Hits() (share float64, ok bool) {
	return float64(o.Fresh+o.Unchanged) / float64(max(1, o.All())), o.All() > 0
}

// Page counts the objects of a page that came whole.
func (t *Tally) Page(behaviour string, objects Objects) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.caches[behaviour] = t.caches[behaviour].Plus(objects)
}
