package cluster

import (
	"context"
	"errors"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// Serve lends addresses of this host until ctx ends.
func (c *Cluster) Serve(ctx context.Context, l Lender) {
	c.setLender(l)
	c.wake()
	<-ctx.Done()
	c.setLender(nil)
}

func (c *Cluster) setLender(l Lender) {
	c.lending.Lock()
	defer c.lending.Unlock()
	c.lender = l
}

// answerAll answers what other hosts want of this host's blocks.
func (c *Cluster) answerAll(ctx context.Context) error {
	var errs []error
	for _, w := range c.wanted() {
		errs = append(errs, c.answer(ctx, w))
	}
	return errors.Join(errs...)
}

// maxAnswers is how many wants of one host are answered in one round, so that a host with
// many wants does not delay the others. The answers' own events start the next round.
const maxAnswers = 16

// wanted lists the wants for addresses of held blocks that have no answer yet.
func (c *Cluster) wanted() (all []item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := map[string]int{}
	for _, i := range c.record.items {
		if _, is := i.value.(*wantRecord); !is || i.host == c.o.Self.Name {
			continue
		}
		if _, mine := c.memory.heldBlock(i.addr); !mine {
			continue
		}
		said := value[answerRecord](&c.record, answerKey(c.o.Self.Name, i.host, i.addr))
		if open := said == nil || said.Want != i.revision && said.Move == nil; open && asked[i.host] < maxAnswers {
			asked[i.host]++
			all = append(all, i)
		}
	}
	return all
}

// answer sets an address aside and says so, or says which host has it.
func (c *Cluster) answer(ctx context.Context, w item) error {
	asker := w.value.(*wantRecord).Host
	c.lending.Lock()
	if c.lender == nil {
		c.lending.Unlock()
		return nil
	}
	said := answerRecord{Host: asker, Want: w.revision, Denied: c.otherHolder(w.addr, asker)}
	if said.Denied == "" {
		if err := c.lender.Lend(w.addr.network, w.addr.ip); err != nil {
			said.Denied = heddle.CauseOf(err)
		}
	}
	block, err := c.recordLent(w.addr, asker, said.Denied == "")
	if err != nil && said.Denied == "" {
		c.lender.Reclaim(w.addr.network, w.addr.ip)
	}
	c.lending.Unlock()
	if err != nil || block.Key == "" {
		return err
	}
	_, _, err = c.commit(ctx, store.Change{
		Require: []store.Condition{{Key: w.key, Revision: w.revision}, block},
		Put:     []store.Entry{entry(answerKey(c.o.Self.Name, w.host, w.addr), said)},
	})
	return err
}

// otherHolder says which host other than the asker has an address, or may have it; "" if none.
func (c *Cluster) otherHolder(p netAddr, asker string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if host, out := c.memory.Lent[p]; out && host != asker {
		return "host " + c.record.hostName(host) + " has it"
	}
	for _, i := range c.record.pinsOf(p) {
		if host := i.value.(*pinRecord).Host; host != asker {
			return "host " + c.record.hostName(host) + " has it"
		}
	}
	return ""
}

// recordLent records on the disk that the asker may have the address, and returns
// the condition that its block is still this host's; none if it is not.
func (c *Cluster) recordLent(p netAddr, asker string, aside bool) (store.Condition, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, held := c.memory.heldBlock(p)
	if !held {
		return store.Condition{}, errors.New("the block was given back meanwhile")
	}
	key := blockKey(b.network, b.prefix)
	block := store.Condition{Key: key, Revision: c.record.revisionOf(key)}
	if host, out := c.memory.Lent[p]; !aside || out && host == asker {
		return block, nil
	}
	return block, c.updateMemoryLocked(func(m *memory) { m.Lent[p] = asker })
}

// reconcileLent checks each lent address: which host has it now, and whether any host still has
// it.
func (c *Cluster) reconcileLent(ctx context.Context) error {
	c.mu.Lock()
	all := map[netAddr]string{}
	for p, host := range c.memory.Lent {
		if !c.sending[p] {
			all[p] = host
		}
	}
	errs := []error{c.followPins()}
	stale := c.staleAnswers()
	c.mu.Unlock()
	for p, host := range all {
		errs = append(errs, c.reclaim(ctx, p, host))
	}
	for _, change := range stale {
		_, _, err := c.commit(ctx, change)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// followPins records which pins in own blocks moved to another host.
func (c *Cluster) followPins() error {
	moved := lent{}
	for _, i := range c.record.items {
		v, is := i.value.(*pinRecord)
		if !is || v.Host == c.o.Self.ID {
			continue
		}
		_, mine := c.memory.heldBlock(i.addr)
		if list := c.record.pinsOf(i.addr); mine && list[len(list)-1].key == i.key && c.memory.Lent[i.addr] != v.Host {
			moved[i.addr] = v.Host
		}
	}
	if len(moved) == 0 {
		return nil
	}
	return c.updateMemoryLocked(func(m *memory) {
		for p, host := range moved {
			m.Lent[p] = host
		}
	})
}

// staleAnswers are the changes that delete answers which are no longer needed: their want
// is gone, they are not a move, and nothing was lent or it is pinned. Answers that are not
// accepted are stale, too: their host was removed, and another one has its name.
func (c *Cluster) staleAnswers() (all []store.Change) {
	for _, i := range c.record.items {
		_, is := i.parsed.(*answerRecord)
		if !is || i.host != c.o.Self.Name {
			continue
		}
		v, taken := i.value.(*answerRecord)
		want, pin := wantKey(i.asker, i.addr), c.record.items[pinKey(i.asker, i.addr)]
		change := store.Change{Delete: []string{i.key}, Require: []store.Condition{{Key: i.key, Revision: i.revision}}}
		_, out := c.memory.Lent[i.addr]
		_, sent := c.memory.Sent[i.addr]
		switch {
		case !taken: // so no pin can come from it
		case pin.key != "":
			change.Require = append(change.Require, store.Condition{Key: pin.key, Revision: pin.revision})
		case v.Move != nil && (out && c.memory.Lent[i.addr] == v.Host || sent || c.sending[i.addr] || !c.settledLocked(i)):
			continue // the address waits for the host that it was sent to
		case v.Move == nil && (c.record.revisionOf(want) != 0 || out && v.Denied == ""):
			continue
		default:
			change.Require = append(change.Require, store.Condition{Key: pinKey(i.asker, i.addr)})
		}
		all = append(all, change)
	}
	return all
}

// reclaim takes an address back if its host neither wants nor pins it. This is certain at
// the commit that deletes the answer: without an answer, there is no pin.
func (c *Cluster) reclaim(ctx context.Context, p netAddr, host string) error {
	c.mu.Lock()
	name := c.record.hostName(host)
	key := answerKey(c.o.Self.Name, name, p)
	answer := c.record.items[key]
	said, _ := answer.value.(*answerRecord)
	waits := c.record.revisionOf(wantKey(name, p)) != 0 || len(c.record.pinsOf(p)) > 0
	waits = waits || said != nil && said.Move != nil && !c.settledLocked(answer)
	change := store.Change{Require: []store.Condition{{Key: wantKey(name, p)}, {Key: pinKey(name, p)}}}
	for _, i := range c.record.items { // all: an address may have gone further
		if _, is := i.value.(*answerRecord); is && i.host == c.o.Self.Name && i.addr == p {
			i.deleteBy(&change)
			change.Require = append(change.Require, store.Condition{Key: pinKey(i.asker, p)})
		}
	}
	if answer.key == "" {
		change.Require = append(change.Require, store.Condition{Key: key})
	}
	c.mu.Unlock()
	if waits {
		return nil
	}
	done, _, err := c.commit(ctx, change)
	if err != nil || !done {
		return err
	}
	return c.takeBack(p, func(m *memory) { delete(m.Lent, p) })
}

// takeBack forgets that another host has an address, and ends its Lend.
func (c *Cluster) takeBack(p netAddr, forget func(*memory)) error {
	c.lending.Lock()
	defer c.lending.Unlock()
	c.mu.Lock()
	err := c.updateMemoryLocked(forget)
	c.mu.Unlock()
	if err == nil && c.lender != nil {
		c.lender.Reclaim(p.network, p.ip)
	}
	return err
}
