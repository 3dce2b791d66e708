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
// An owner takes an answer back by deleting it, on condition that there is neither
// want nor pin: then no pin can come of it.
func (c *Cluster) Borrow(ctx context.Context, network string, a netip.Addr, by heddle.EndpointID) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	p := place{network, a}
	c.mu.Lock()
	if c.asking[p] {
		c.mu.Unlock()
		return heddle.Errorf(heddle.AddressTaken, "address", a.String(), "another endpoint of this host is about to get it; choose another one")
	}
	c.asking[p] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asking, p)
		c.mu.Unlock()
		c.wake() // what is left of it goes
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

// borrow goes one step, as the record demands.
func (c *Cluster) borrow(ctx context.Context, p place, by heddle.EndpointID) (done bool, err error) {
	c.mu.Lock()
	s, err := c.lookAround(p)
	var change store.Change
	var pins bool
	switch {
	case err != nil || s.pinned:
		c.mu.Unlock()
		return s.pinned, err
	case s.own.key != "":
		// an earlier step whose outcome was open, or a pin that is being returned:
		// rewritten, so that no return under way can take effect
		pins = true
		change = store.Change{Require: []store.Condition{{Key: s.own.key, Revision: s.own.revision}}, Put: []store.Entry{put(s.own.key, s.own.value)}}
	case s.move.key != "":
		pins, change = true, c.pin(p, s.move)
		change.Require = append(change.Require, s.source)
	case s.want.key == "":
		change = store.Change{Require: []store.Condition{{Key: s.block.key, Revision: s.block.revision}},
			Put: []store.Entry{put(wantKey(c.o.Self.Name, p), wantRecord{c.o.Self.ID, by})}}
	case s.answer.key == "":
		c.mu.Unlock()
		return false, c.awaitAnswer(ctx, p, s)
	case s.denied != "":
		c.mu.Unlock()
		return false, heddle.Errorf(heddle.AddressTaken, "address", p.addr.String(), "host "+s.owner+" says: "+s.denied)
	default:
		pins, change = true, c.pin(p, s.answer)
		change.Require = append(change.Require, store.Condition{Key: s.block.key, Revision: s.block.revision})
	}
	c.mu.Unlock()
	made, revision, err := c.commit(ctx, change)
	if made && pins && err == nil {
		return c.pinned(p, revision)
	}
	return false, err // the record says what came of it
}

// pin is the change that pins an address here by an answer.
func (c *Cluster) pin(p place, answer item) store.Change {
	return store.Change{
		Require: []store.Condition{{Key: answer.key, Revision: answer.revision}},
		Put:     []store.Entry{put(pinKey(c.o.Self.Name, p), pinRecord{c.o.Self.ID})},
		Delete:  []string{wantKey(c.o.Self.Name, p)},
	}
}

// useUp notes that the moves of an address that are there by now have served: one
// that is taken up twice would bring an address back that was given on since. The
// sender deletes them when it sees the pin, however late that is.
func (c *Cluster) useUp(m *memory, p place) {
	if c.movedHere(p) {
		m.Used[p] = c.record.revision
	}
}

// pinned records a pin that is in the store.
func (c *Cluster) pinned(p place, revision int64) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.record.revisionOf(pinKey(c.o.Self.Name, p)) != revision {
		return false, nil
	}
	err := c.keep(func(m *memory) { m.Pins[p] = revision; c.useUp(m, p) })
	return err == nil, err
}

// surroundings are what the record has about an address that is asked for.
type surroundings struct {
	pinned      bool // it is this host's
	own         item // this host's pin of it
	want        item
	block       item
	owner       string // the name of the block's host
	answer      item   // to the want
	denied      string
	move        item            // an answer that nobody asked for
	source      store.Condition // of the move
	ownerHostID string
}

// lookAround gathers them. The caller holds the lock.
func (c *Cluster) lookAround(p place) (s surroundings, err error) {
	r, self := &c.record, c.o.Self
	if n, known := r.network(p.network); n.key == "" || known.Deleting {
		return s, heddle.Errorf(heddle.NetworkLeaving, "borrow address", p.addr.String(), "its network is being deleted, or gone")
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
		return s, heddle.Errorf(heddle.Waited, "borrow address", p.addr.String(), "its block became free just now; try again")
	case self.ID:
		return s, heddle.Errorf(heddle.Waited, "borrow address", p.addr.String(), "its block became this host's just now; try again")
	}
	s.owner = r.hostName(s.ownerHostID)
	answer := r.items[answerKey(s.owner, self.Name, p)]
	if v, is := answer.value.(*answerRecord); is && v.Host == self.ID && s.want.key != "" && v.Want == s.want.revision {
		s.answer, s.denied = answer, v.Denied
	}
	return s, nil
}

// moveTo finds a move of the address to this host that it has not used yet, and
// the condition that the address is still the sender's as it was when it was sent.
func (c *Cluster) moveTo(p place) (item, store.Condition) {
	for _, i := range c.record.items {
		v, is := i.value.(*answerRecord)
		if !is || v.Move == nil || v.Host != c.o.Self.ID || i.place != p || i.revision <= c.memory.Used[p] {
			continue
		}
		if v.Key != "" && c.record.revisionOf(v.Key) == v.Revision {
			return i, store.Condition{Key: v.Key, Revision: v.Revision}
		}
	}
	return item{}, store.Condition{}
}

// movedHere says whether a move of the address to this host is in the record.
func (c *Cluster) movedHere(p place) bool {
	for _, i := range c.record.items {
		if v, is := i.value.(*answerRecord); is && v.Move != nil && v.Host == c.o.Self.ID && i.place == p {
			return true
		}
	}
	return false
}

// awaitAnswer waits until something about the address is other than it was.
func (c *Cluster) awaitAnswer(ctx context.Context, p place, was surroundings) error {
	waited := c.await(ctx, func() bool {
		s, err := c.lookAround(p)
		return err != nil || c.fence == 0 || s.answer.key != "" || s.move.key != "" || s.want.key == "" || s.block.revision != was.block.revision
	})
	if waited == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	state := "it does not answer"
	if c.record.revisionOf(aliveKey(was.owner)) == 0 {
		state = "it is not connected"
	}
	return heddle.Errorf(heddle.Waited, "borrow address "+p.addr.String()+" from host", was.owner, state+"; try again, choose another address, or remove the host if it never returns ('heddle host remove "+was.owner+"')")
}

// Return gives a borrowed address back: off the disk at once, out of the store
// when that can be reached.
func (c *Cluster) Return(network string, a netip.Addr) {
	p := place{network, a}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, mine := c.memory.Pins[p]; !mine {
		return
	}
	if err := c.keep(func(m *memory) { delete(m.Pins, p) }); err != nil {
		c.o.Log.Error("a borrowed address is not given back", "network", network, "address", a, "error", err)
		return
	}
	c.wake()
}
