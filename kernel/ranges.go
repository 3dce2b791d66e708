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

// In a set of ranges (NFT_SET_INTERVAL | NFT_SET_CONCAT, nft_set_pipapo) every
// element has two keys, the concatenations of the parts' first and of their last
// values. The kernel finds and deletes an element by any key within, and refuses
// one that overlaps another.

// bounds writes the first and the last of each part; the texts are addresses,
// prefixes, or what FIRST-LAST lies between.
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

// joinBounds is the reverse of bounds, in the spelling that plans use.
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

// between is the prefix that reaches from one address to another, if one does.
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

// overlaps reports whether two elements of a set of ranges have a key in common:
// each part's ranges do.
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

// contents reads what is in our sets: a set of ranges as a whole and once, of other
// sets the elements that are asked for.
type contents struct {
	c    *conn
	sets map[string][]member
}

// inTheWay lists the elements that keep another from being added: the one with
// its key and, in a set of ranges, those that overlap it.
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

// has reports whether an element is there as it is, and not only one that the
// kernel would take for it. In a set without ranges the kernel knows that itself, and
// is asked beforehand only if told to (look).
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

// forget leaves out what is going to be deleted.
func (ms *contents) forget(m member) {
	if m.end == nil {
		return
	}
	name := m.Family + "/" + m.Set
	ms.sets[name] = slices.DeleteFunc(ms.sets[name], func(was member) bool { return bytes.Equal(was.key, m.key) })
}
