package cluster

import (
	"context"
	"errors"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// Send lends an address for an endpoint that moves to another host. That host pins it in
// Borrow, by the answer that it did not ask for. If the address comes home to the owner of
// its block, there is nothing to pin: only the pin here is deleted.
func (c *Cluster) Send(ctx context.Context, m Move) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	if _, err := c.fenced(ctx); err != nil {
		return err
	}
	p := netAddr{m.Network, m.Addr}
	m.From = c.o.Self.Name
	change, err := c.dispatch(p, m)
	if err != nil {
		return err
	}
	done, _, err := c.commit(ctx, change)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sending, p)
	c.wake()
	there := value[answerRecord](&c.record, change.Put[0].Key)
	if done || there != nil && there.Move != nil {
		return nil
	}
	if err == nil { // the change was certainly not made
		err = heddle.Errorf(heddle.Waited, "send", "address "+p.ip.String()+" to host "+m.To,
			"the cluster changed meanwhile", "try again")
		err = errors.Join(err, c.undoDispatchLocked(p))
	}
	return err
}

// dispatch removes the address from those that this host may use, and returns the change
// that sends it.
func (c *Cluster) dispatch(p netAddr, m Move) (store.Change, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := value[hostRecord](&c.record, selfKey(m.To))
	if to == nil || to.ID == c.o.Self.ID {
		return store.Change{}, heddle.Errorf(heddle.NoHost, "send", "address "+p.ip.String()+" to host "+m.To, "",
			"name another host: 'heddle host list' shows those there are")
	}
	change, said := store.Change{}, answerRecord{Host: to.ID, Move: &m}
	block, _ := c.record.blockAround(p)
	pin := c.record.items[pinKey(c.o.Self.Name, p)]
	_, pinned := c.memory.Pins[p]
	_, own := c.memory.heldBlock(p)
	home := block.key != "" && c.record.owner(blockID{p.network, block.prefix}) == to.ID
	var err error
	switch {
	case pinned && pin.key != "":
		change.Require = []store.Condition{{Key: pin.key, Revision: pin.revision}}
		if home {
			change.Delete = []string{pin.key}
		}
		err = c.updateMemoryLocked(func(m *memory) { delete(m.Pins, p); m.Sent[p] = to.ID })
	case own:
		if host, out := c.memory.Lent[p]; out {
			return change, heddle.Errorf(heddle.AddressTaken, "send address", p.ip.String(),
				"host "+c.record.hostName(host)+" has it", "wait until that host gives it back")
		}
		change.Require = []store.Condition{{Key: block.key, Revision: block.revision}}
		err = c.updateMemoryLocked(func(m *memory) { m.Lent[p] = to.ID })
	default:
		return change, heddle.Errorf(heddle.OutsidePool, "send address", p.ip.String(), "this host does not have it",
			"call on the host that has it")
	}
	if !home {
		said.Key, said.Revision = change.Require[0].Key, change.Require[0].Revision
	}
	change.Put = []store.Entry{entry(answerKey(c.o.Self.Name, m.To, p), said)}
	c.sending[p] = err == nil
	return change, err
}

// undoDispatchLocked undoes a dispatch.
func (c *Cluster) undoDispatchLocked(p netAddr) error {
	return c.updateMemoryLocked(func(m *memory) {
		delete(m.Lent, p)
		if _, sent := m.Sent[p]; sent {
			delete(m.Sent, p)
			m.Pins[p] = c.record.revisionOf(pinKey(c.o.Self.Name, p))
		}
	})
}

// reconcileSent checks borrowed addresses that were sent on. The pin here is deleted when the
// other host has pinned the address, or has not taken it in time.
func (c *Cluster) reconcileSent(ctx context.Context) error {
	c.mu.Lock()
	all := lent{}
	for p, host := range c.memory.Sent {
		if !c.sending[p] {
			all[p] = host
		}
	}
	c.mu.Unlock()
	var errs []error
	for p, host := range all {
		errs = append(errs, c.finishSend(ctx, p, host))
	}
	return errors.Join(errs...)
}

func (c *Cluster) finishSend(ctx context.Context, p netAddr, host string) error {
	c.mu.Lock()
	to := c.record.hostName(host)
	answer := c.record.items[answerKey(c.o.Self.Name, to, p)]
	pin, theirs := c.record.items[pinKey(c.o.Self.Name, p)], c.record.items[pinKey(to, p)]
	change := store.Change{}
	for _, i := range []item{answer, pin} {
		if i.key != "" {
			i.deleteBy(&change)
		}
	}
	waits := answer.key != "" && theirs.key == "" && !c.settledLocked(answer)
	if theirs.key == "" {
		change.Require = append(change.Require, store.Condition{Key: pinKey(to, p)})
	}
	c.mu.Unlock()
	if waits {
		return nil
	}
	done := true
	if len(change.Delete) > 0 {
		var err error
		if done, _, err = c.commit(ctx, change); err != nil {
			return err
		}
	}
	if !done {
		return nil // the next round looks again
	}
	return c.takeBack(p, func(m *memory) { delete(m.Sent, p) })
}
