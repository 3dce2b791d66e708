package kernel

import (
	"maps"
	"slices"
	"sync"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
)

// inventory is one call of Ours: the objects that were found, and what several kinds need. That is
// read when it is first asked for.
type inventory struct {
	s     *session
	found heddle.State
	// fast is nil if the fast path is not at work.
	fast   func() (*bpf.Fast, error)
	tables map[string]*liveTable
}

// ourFamilies are the families of our tables.
var ourFamilies = []string{"inet", "bridge"}

func (k *Kernel) inventory() *inventory {
	s := k.listing()
	fast := sync.OnceValues(func() (*bpf.Fast, error) { return k.fastAtWork(s) })
	return &inventory{s: s, fast: fast, tables: map[string]*liveTable{}}
}

// names are the names of all interfaces by index.
func (v *inventory) names() (map[int]string, error) {
	live, err := v.s.listedLinks()
	names := make(map[int]string, len(live))
	for _, l := range live {
		names[l.index] = l.name
	}
	return names, err
}

// table reads one of our tables, without its elements.
func (v *inventory) table(family string) (t *liveTable, err error) {
	if t = v.tables[family]; t == nil {
		t, err = v.s.nft.table(family)
		v.tables[family] = t
	}
	return t, err
}

// setNames are the names of sets and maps, without the anonymous ones that belong to a rule.
func (t *liveTable) setNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.sets)), func(name string) bool { return t.sets[name].anon })
}
