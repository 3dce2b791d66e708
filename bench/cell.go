package bench

import (
	"fmt"
	"slices"
)

// Wire is a connection between the hosts. Columns refer to it by name.
type Wire struct {
	// Name is "" for the plain wire.
	Name string `json:"name"`
	// Note says how the wire differs from a cable. Offloads and MTU are those of its ends.
	Note     string          `json:"note"`
	MTU      int             `json:"mtu,omitempty"`
	Offloads map[string]bool `json:"offloads,omitempty"`
	// Rate in bits a second, each way; 0 is unlimited.
	Rate uint64 `json:"rate,omitempty"`
}

// Cell is one field of the matrix.
type Cell struct {
	Mode  string `json:"mode"`
	Span  string `json:"span"`
	Probe string `json:"probe"`
	// Size is the UDP payload, or the size of the Redis value, in bytes; 0 if the probe has no
	// size.
	Size  int `json:"size,omitempty"`
	Pairs int `json:"pairs"`
	// Wire names the switch between the hosts if there are several to compare;
	// "" is the plain one (segments intact, no rate limit).
	Wire string `json:"wire,omitempty"`
}

func (c Cell) String() string {
	s := columnName(c.Mode, c.Span, c.Wire) + " " + c.Probe
	if c.Size > 0 {
		s += fmt.Sprintf(" %d B", c.Size)
	}
	if c.Pairs > 1 {
		s += fmt.Sprintf(" × %d", c.Pairs)
	}
	return s
}

// takesOnePair is a probe that is not run with several pairs; onePair says why.
type takesOnePair interface{ onePair() string }

// pairCounts returns the numbers of pairs with which a probe is run.
func (m Matrix) pairCounts(p Probe) []int {
	if _, one := p.(takesOnePair); !one {
		return m.PairCounts
	}
	return slices.DeleteFunc(slices.Clone(m.PairCounts), func(n int) bool { return n > 1 })
}

// leftOut returns the matrix's LeftOut, and the probes that are not run with several pairs.
func (m Matrix) leftOut() []string {
	all := slices.Clone(m.LeftOut)
	for _, p := range m.Probes {
		if one, is := p.(takesOnePair); is && slices.Max(m.PairCounts) > 1 {
			all = append(all, p.Name()+" with several pairs: "+one.onePair())
		}
	}
	return all
}
