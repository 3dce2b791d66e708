package kernel

import (
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// batchSize bounds the size of a transaction, which must fit into the socket's send buffer.
const batchSize = 256

// elements adds members to our sets, as many as fit into one transaction. The kernel takes about 20
// ms for each transaction, however small (synchronize_rcu(9)).
func (a *attempt) elements(wanted []heddle.Element) error {
	for some := range slices.Chunk(once(wanted), batchSize) {
		if err := a.step("make", batchKey(some), func() error { return a.members(some) }); err != nil {
			return err
		}
	}
	return nil
}

// members adds some members in one transaction. If a refused member must not stop the
// others, it adds each one separately.
func (a *attempt) members(some []heddle.Element) error {
	err := a.batch(some)
	if err == nil || !a.lenient || len(some) == 1 {
		return err
	}
	return each(some, func(e heddle.Element) error {
		return a.step("make", e.Key(), func() error { return a.batch([]heddle.Element{e}) })
	})
}

// once removes duplicates from a list of elements.
func once(all []heddle.Element) []heddle.Element {
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(slices.Clone(all), func(e heddle.Element) bool {
		key := e.Key()
		again := seen[key]
		seen[key] = true
		return again
	})
}

// batchKey names a batch in steps and errors.
func batchKey(some []heddle.Element) string {
	if len(some) == 1 {
		return some[0].Key()
	}
	return fmt.Sprintf("%s and %d more", some[0].Key(), len(some)-1)
}

// batch adds members in one transaction. The lock keeps others from removing, at the same time, an
// element that batch finds present.
func (a *attempt) batch(wanted []heddle.Element) error {
	members := make([]member, len(wanted))
	reqs := make([]*nl.NetlinkRequest, len(wanted))
	for i, e := range wanted {
		m, err := newMember(e)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Key(), err)
		}
		members[i], reqs[i] = m, m.request(unix.NFT_MSG_NEWSETELEM, excl)
	}
	a.k.frame.Lock()
	defer a.k.frame.Unlock()
	c := a.host.nft
	err := c.batch(reqs...)
	if exists(err) {
		return a.sameElements(members)
	}
	if err == nil {
		a.added(members, nil)
	}
	return err
}

// added records new elements and the elements that they replaced. Both are undone together.
func (a *attempt) added(members, replaced []member) {
	if len(members) == 0 {
		return
	}
	nothing := func() error { return nil }
	for _, m := range members {
		a.recordUndo(m.Key(), nothing)
	}
	c := a.host.nft
	a.recordUndo(members[0].Key(), func() error {
		a.k.frame.Lock()
		defer a.k.frame.Unlock()
		var own []heddle.Element
		for _, m := range members {
			if !a.k.shared(m.Key()) {
				own = append(own, m.Element)
			}
		}
		var back []*nl.NetlinkRequest
		for _, was := range replaced {
			back = append(back, was.request(unix.NFT_MSG_NEWSETELEM, excl))
		}
		err := c.deleteElements(own)
		if err == nil {
			err = c.batch(back...)
		}
		return err
	})
}

// sameElements adds missing members. It replaces members that map to something else or, in a set of
// ranges, overlap.
func (a *attempt) sameElements(members []member) error {
	c := a.host.nft
	var reqs []*nl.NetlinkRequest
	var added, replaced []member
	live := contents{c: c}
	for _, m := range members {
		old, err := live.inTheWay(m)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(old, func(was member) bool { return heddle.Same(was.canonical(), m.canonical()) }) {
			continue
		}
		for _, was := range old {
			live.forget(was)
			reqs, replaced = append(reqs, was.request(unix.NFT_MSG_DELSETELEM, 0)), append(replaced, was)
		}
		reqs, added = append(reqs, m.request(unix.NFT_MSG_NEWSETELEM, excl)), append(added, m)
	}
	err := c.batch(reqs...)
	if err == nil {
		a.added(added, replaced)
	}
	return err
}

// canonical is the element as it is spelled when it is read back.
func (m member) canonical() heddle.Element {
	t, _ := firewall.TypeOf(m.Family, m.Set)
	e := m.Element
	e.Match = decode(t.Match, m.key)
	if t.Ranges {
		e.Match = joinBounds(e.Match, decode(t.Match, m.end))
	}
	if m.value != nil {
		e.Value = decode(t.Value, m.value)
	}
	return e
}

// deleteTries bounds how often a batch is built again because somebody else removed one of its
// elements meanwhile.
const deleteTries = 4

// deleteElements removes elements from our sets in one transaction. The kernel removes none if one
// of them is missing; then deleteElements looks for those that exist.
func (c *conn) deleteElements(some []heddle.Element) error {
	members := make([]member, len(some))
	for i, e := range some {
		m, err := newMember(e)
		if err != nil {
			return err
		}
		members[i] = m
	}
	var err error
	for try := range deleteTries {
		live := contents{c: c}
		var reqs []*nl.NetlinkRequest
		for _, m := range members {
			there, err := live.has(m, try > 0)
			if err != nil {
				return err
			}
			if there {
				reqs = append(reqs, m.request(unix.NFT_MSG_DELSETELEM, 0))
			}
		}
		if err = c.batch(reqs...); !absent(err) {
			return err
		}
	}
	return err
}
