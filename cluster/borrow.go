package cluster

import (
	"context"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// Borrow gets an address of another host's block:
//
//	want    here; requires that the block is still the owner's
//	answer  there; requires the want, after the address is set aside on disk
//	pin     here; requires the answer and the block, and drops the want
//
// An owner takes an answer back by deleting it, on condition that there is neither want
// nor pin. After that, nobody can pin the address by this answer.
func (c *Cluster) Borrow(ctx context.Context, network string, a netip.Addr, by heddle.EndpointID) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	p := netAddr{network, a}
	c.mu.Lock()
	if c.borrowing[p] {
		c.mu.Unlock()
		return heddle.Errorf(heddle.AddressTaken, "borrow address", a.String(),
			"another endpoint of this host is about to get it", "choose another address")
	}
	c.borrowing[p] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.borrowing, p)
		c.mu.Unlock()
		c.wake() // reconcile removes what is left of it
	}()
	for {
		if _, err := c.fenced(ctx); err != nil {
			return err
		}
		done, err := c.borrow(ctx, p, by)
		if done || err != nil {
			return err
		}
	}
}

// borrow takes the next step, depending on what the record shows.
func (c *Cluster) borrow(ctx context.Context, p netAddr, by heddle.EndpointID) (done bool, err error) {
	c.mu.Lock()
	s, err := c.borrowStateOfLocked(p)
	var change store.Change
	var pins bool
	switch {
	case err != nil || s.pinned:
		c.mu.Unlock()
		return s.pinned, err
	case s.own.key != "":
		// The pin comes from an earlier step with an unknown outcome, or it is being returned. It
		// is written again, so that a return under way cannot take effect.
		pins = true
		change = store.Change{Require: []store.Condition{{Key: s.own.key, Revision: s.own.revision}}, Put: []store.Entry{entry(s.own.key, s.own.value)}}
	case s.move.key != "":
		pins, change = true, c.pin(p, s.move)
		change.Require = append(change.Require, s.source)
	case s.want.key == "":
		change = store.Change{Require: []store.Condition{{Key: s.block.key, Revision: s.block.revision}},
			Put: []store.Entry{entry(wantKey(c.o.Self.Name, p), wantRecord{c.o.Self.ID, by})}}
	case s.answer.key == "":
		c.mu.Unlock()
		return false, c.awaitAnswer(ctx, p, s)
	case s.denied != "":
		c.mu.Unlock()
		return false, heddle.Errorf(heddle.AddressTaken, "borrow address", p.ip.String(),
			"host "+s.owner+" refused: "+s.denied, "choose another address")
	default:
		pins, change = true, c.pin(p, s.answer)
		change.Require = append(change.Require, store.Condition{Key: s.block.key, Revision: s.block.revision})
	}
	c.mu.Unlock()
	made, revision, err := c.commit(ctx, change)
	if made && pins && err == nil {
		return c.pinned(p, revision)
	}
	return false, err // the record shows the result
}

// pin is the change that pins an address here by an answer.
func (c *Cluster) pin(p netAddr, answer item) store.Change {
	return store.Change{
		Require: []store.Condition{{Key: answer.key, Revision: answer.revision}},
		Put:     []store.Entry{entry(pinKey(c.o.Self.Name, p), pinRecord{c.o.Self.ID})},
		Delete:  []string{wantKey(c.o.Self.Name, p)},
	}
}

// markMoveUsed notes that the present moves of an address have been used. A move that is used
// twice could bring back an address that was given to somebody else since. The sender
// deletes the moves when it sees the pin, which may be much later.
func (c *Cluster) markMoveUsed(m *memory, p netAddr) {
	if c.movedHere(p) {
		m.Used[p] = c.record.revision
	}
}

// pinned records a pin that is in the store.
func (c *Cluster) pinned(p netAddr, revision int64) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.record.revisionOf(pinKey(c.o.Self.Name, p)) != revision {
		return false, nil
	}
	err := c.updateMemoryLocked(func(m *memory) { m.Pins[p] = revision; c.markMoveUsed(m, p) })
	return err == nil, err
}

// borrowState is what the record says about a requested address.
type borrowState struct {
	pinned      bool // it is this host's
	own         item // this host's pin of it
	want        item
	block       item
	owner       string // the name of the host that owns the block
	answer      item   // to the want
	denied      string
	move        item            // an answer without a want
	source      store.Condition // of the move
	ownerHostID string
}

// borrowStateOfLocked reads what the record says about an address.
func (c *Cluster) borrowStateOfLocked(p netAddr) (s borrowState, err error) {
	r, self := &c.record, c.o.Self
	if n, known := r.network(p.network); n.key == "" || known.Deleting {
		return s, heddle.Errorf(heddle.NetworkLeaving, "borrow address", p.ip.String(),
			"its network is being deleted, or is gone", "use another network")
	}
	_, s.pinned = c.memory.Pins[p]
	s.own = r.items[pinKey(self.Name, p)]
	s.want = r.items[wantKey(self.Name, p)]
	s.move, s.source = c.moveTo(p)
	if s.pinned || s.own.key != "" || s.move.key != "" {
		return s, nil
	}
	var claimed bool
	s.block, claimed = r.blockAround(p)
	if claimed {
		s.ownerHostID = r.owner(blockID{p.network, s.block.prefix})
	}
	switch s.ownerHostID {
	case "":
		return s, heddle.Errorf(heddle.Waited, "borrow address", p.ip.String(), "its block became free just now",
			"try again")
	case self.ID:
		return s, heddle.Errorf(heddle.Waited, "borrow address", p.ip.String(), "this host got its block just now",
			"try again")
	}
	s.owner = r.hostName(s.ownerHostID)
	answer := r.items[answerKey(s.owner, self.Name, p)]
	if v, is := answer.value.(*answerRecord); is && v.Host == self.ID && s.want.key != "" && v.Want == s.want.revision {
		s.answer, s.denied = answer, v.Denied
	}
	return s, nil
}

// moveTo finds a move of the address to this host that it has not used yet. It also
// returns the condition that the sender still has the address as it had it when it sent
// it.
func (c *Cluster) moveTo(p netAddr) (item, store.Condition) {
	for _, i := range c.record.items {
		v, is := i.value.(*answerRecord)
		if !is || v.Move == nil || v.Host != c.o.Self.ID || i.addr != p || i.revision <= c.memory.Used[p] {
			continue
		}
		if v.Key != "" && c.record.revisionOf(v.Key) == v.Revision {
			return i, store.Condition{Key: v.Key, Revision: v.Revision}
		}
	}
	return item{}, store.Condition{}
}

// movedHere says whether a move of the address to this host is in the record.
func (c *Cluster) movedHere(p netAddr) bool {
	for _, i := range c.record.items {
		if v, is := i.value.(*answerRecord); is && v.Move != nil && v.Host == c.o.Self.ID && i.addr == p {
			return true
		}
	}
	return false
}

// awaitAnswer waits until the state of the borrowing differs from was.
func (c *Cluster) awaitAnswer(ctx context.Context, p netAddr, was borrowState) error {
	waited := c.await(ctx, func() bool {
		s, err := c.borrowStateOfLocked(p)
		return err != nil || c.fence == 0 || s.answer.key != "" || s.move.key != "" || s.want.key == "" || s.block.revision != was.block.revision
	})
	if waited == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	state := "host " + was.owner + " does not answer"
	if c.record.revisionOf(aliveKey(was.owner)) == 0 {
		state = "host " + was.owner + " is not connected to the store"
	}
	return heddle.Errorf(heddle.Waited, "borrow address", p.ip.String(), state,
		"try again, choose another address, or remove the host if it never returns ('heddle host remove "+was.owner+"')")
}

// Return gives a borrowed address back. It leaves the disk at once, and the store as soon
// as that can be reached.
func (c *Cluster) Return(network string, a netip.Addr) {
	p := netAddr{network, a}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, mine := c.memory.Pins[p]; !mine {
		return
	}
	if err := c.updateMemoryLocked(func(m *memory) { delete(m.Pins, p) }); err != nil {
		c.o.Log.Error("a borrowed address is not given back", "network", network, "address", a, "error", err)
		return
	}
	c.wake()
}
