package kernel

import (
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// firewallKey names the static part of the firewall in steps and errors.
const firewallKey = "firewall"

// firewall makes the static part of the firewall, in one nft transaction.
// Undone is what was missing; a chain of ours that somebody had changed stays
// repaired.
func (a *attempt) firewall(objects []heddle.Firewall) error {
	if len(objects) == 0 {
		return nil
	}
	return a.step("make", firewallKey, func() error {
		live, err := a.host.tables(objects)
		if err != nil {
			return err
		}
		drifts := compareFirewall(live, objects)
		if len(drifts) == 0 {
			return nil
		}
		if err := a.host.runNft(repairScript(drifts, objects)); err != nil {
			return err
		}
		nothing := func() error { return nil }
		var missing []heddle.Firewall
		for _, d := range drifts {
			if d.kind == "missing" {
				missing = append(missing, d.want)
			}
			a.did(d.want.Key(), nothing)
		}
		a.did(drifts[0].want.Key(), func() error { return a.host.removeFirewall(missing) })
		return nil
	})
}

// batchSize bounds a transaction's size, which must fit the socket's send
// buffer.
const batchSize = 256

// elements adds members to our sets, in one transaction.
func (a *attempt) elements(wanted []heddle.Element) error {
	for some := range slices.Chunk(wanted, batchSize) {
		if err := a.step("make", batchKey(some), func() error { return a.members(some) }); err != nil {
			return err
		}
	}
	return nil
}

// members adds some members at once or, where one that is refused is not to stop the
// others, each for itself.
func (a *attempt) members(some []heddle.Element) error {
	err := a.batch(some)
	if err == nil || !a.lenient || len(some) == 1 {
		return err
	}
	return each(some, func(e heddle.Element) error {
		return a.step("make", e.Key(), func() error { return a.batch([]heddle.Element{e}) })
	})
}

// batchKey names a batch in steps and errors.
func batchKey(some []heddle.Element) string {
	if len(some) == 1 {
		return some[0].Key()
	}
	return fmt.Sprintf("%s and %d more", some[0].Key(), len(some)-1)
}

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
	c := a.host.nft
	err := c.batch(reqs...)
	if exists(err) {
		return a.sameElements(members)
	}
	if err == nil {
		for _, m := range members {
			a.did(m.Key(), func() error { return c.batch(m.request(unix.NFT_MSG_DELSETELEM, 0)) })
		}
	}
	return err
}

// sameElements adds those that are missing and replaces those that map to
// something else or, in a set of ranges, overlap.
func (a *attempt) sameElements(members []member) error {
	c := a.host.nft
	var reqs []*nl.NetlinkRequest
	var back []func()
	live := contents{c: c}
	for _, m := range members {
		old, err := live.inTheWay(m)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(old, func(was member) bool { return heddle.Same(was.canonical(), m.canonical()) }) {
			continue
		}
		undoing := []*nl.NetlinkRequest{m.request(unix.NFT_MSG_DELSETELEM, 0)}
		for _, was := range old {
			live.forget(was)
			reqs = append(reqs, was.request(unix.NFT_MSG_DELSETELEM, 0))
			undoing = append(undoing, was.request(unix.NFT_MSG_NEWSETELEM, excl))
		}
		reqs = append(reqs, m.request(unix.NFT_MSG_NEWSETELEM, excl))
		back = append(back, func() { a.did(m.Key(), func() error { return c.batch(undoing...) }) })
	}
	if err := c.batch(reqs...); err != nil {
		return err
	}
	for _, note := range back {
		note()
	}
	return nil
}

// canonical is the element in the spelling that it has when it is read back.
func (m member) canonical() heddle.Element {
	t, _ := heddle.TypeOf(m.Family, m.Set)
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
