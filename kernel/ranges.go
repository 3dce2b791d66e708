package kernel

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// nftaSetElemKeyEnd is NFTA_SET_ELEM_KEY_END of linux/netfilter/nf_tables.h.
const nftaSetElemKeyEnd = 10

// In a set of ranges (NFT_SET_INTERVAL
//
// NFT_SET_CONCAT, nft_set_pipapo) every element has two keys: the concatenation of the first values
// of all parts, and that of their last values. The kernel finds and deletes an element by any key
// within the range, and refuses an element that overlaps another.

// bounds returns the first and the last value of each part. A text is an address, a prefix, or a
// range FIRST-LAST.
func bounds(parts []string) (first, last []string, err error) {
	for _, p := range parts {
		a, b := p, p
		if strings.Contains(p, "/") {
			prefix, err := netip.ParsePrefix(p)
			if err != nil || prefix != prefix.Masked() {
				return nil, nil, fmt.Errorf("%q is no prefix", p)
			}
			a, b = prefix.Addr().String(), heddle.LastAddr(prefix).String()
		} else if from, to, cut := strings.Cut(p, "-"); cut {
			a, b = from, to
		}
		first, last = append(first, a), append(last, b)
	}
	return first, last, nil
}

// joinBounds is the inverse of bounds, in the spelling that plans use.
func joinBounds(first, last []string) []string {
	var parts []string
	for i, a := range first {
		if i >= len(last) || a == last[i] {
			parts = append(parts, a)
			continue
		}
		parts = append(parts, between(a, last[i]))
	}
	return parts
}

// between is the prefix that reaches from one address to another, if there is one.
func between(first, last string) string {
	a, err := netip.ParseAddr(first)
	if err == nil {
		for bits := range a.BitLen() {
			if p := netip.PrefixFrom(a, bits); p == p.Masked() && heddle.LastAddr(p).String() == last {
				return p.String()
			}
		}
	}
	return first + "-" + last
}

// overlaps reports whether two elements of a set of ranges have a key in common: the ranges of
// every part overlap.
func (m member) overlaps(o member) bool {
	t, _ := firewall.TypeOf(m.Family, m.Set)
	at := 0
	for _, kind := range t.Match {
		end := at + widths[kind]
		if bytes.Compare(m.key[at:end], o.end[at:end]) > 0 || bytes.Compare(o.key[at:end], m.end[at:end]) > 0 {
			return false
		}
		at += padded(widths[kind])
	}
	return true
}

// contents caches the contents of our sets. It reads a set of ranges as a whole, once; of other
// sets it reads the requested elements.
type contents struct {
	c    *conn
	sets map[string][]member
}

// inTheWay lists the elements that keep another element from being added: the one with the same key
// and, in a set of ranges, those that overlap it.
func (ms *contents) inTheWay(m member) ([]member, error) {
	if m.end == nil {
		old, err := ms.c.element(m)
		if err != nil || old == nil {
			return nil, err
		}
		was, err := newMember(*old)
		return []member{was}, err
	}
	all, err := ms.of(m.Family, m.Set)
	var found []member
	for _, was := range all {
		if m.overlaps(was) {
			found = append(found, was)
		}
	}
	return found, err
}

// has reports whether exactly this element is in the set, not only one that the kernel treats as
// equal. For a set without ranges the kernel detects this itself when the element is added, and is
// asked before only if look is set.
func (ms *contents) has(m member, look bool) (bool, error) {
	if m.end == nil {
		if !look {
			return true, nil
		}
		old, err := ms.c.element(m)
		return old != nil, err
	}
	all, err := ms.of(m.Family, m.Set)
	return slices.ContainsFunc(all, func(was member) bool {
		return bytes.Equal(was.key, m.key) && bytes.Equal(was.end, m.end)
	}), err
}

func (ms *contents) of(family, set string) ([]member, error) {
	name := family + "/" + set
	if all, known := ms.sets[name]; known {
		return all, nil
	}
	live, err := ms.c.elements(family, set)
	if err != nil {
		return nil, err
	}
	var all []member
	for _, e := range live {
		m, err := newMember(e)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if ms.sets == nil {
		ms.sets = map[string][]member{}
	}
	ms.sets[name] = all
	return all, nil
}

// forget removes an element that is about to be deleted from the cache.
func (ms *contents) forget(m member) {
	if m.end == nil {
		return
	}
	name := m.Family + "/" + m.Set
	ms.sets[name] = slices.DeleteFunc(ms.sets[name], func(was member) bool { return bytes.Equal(was.key, m.key) })
}
