package cluster

import (
	"context"
	"errors"
	"time"

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

// wantsAtOnce is how many wants of one host are answered in one round, so that a host with
// many wants does not delay the others. The answers' own events start the next round.
const wantsAtOnce = 16

// wanted lists the wants for addresses of held blocks that have no answer yet.
func (c *Cluster) wanted() (all []item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := map[string]int{}
	for _, i := range c.record.items {
		if _, is := i.value.(*wantRecord); !is || i.host == c.o.Self.Name {
			continue
		}
		if _, mine := c.memory.holder(i.place); !mine {
			continue
		}
		said := value[answerRecord](&c.record, answerKey(c.o.Self.Name, i.host, i.place))
		if open := said == nil || said.Want != i.revision && said.Move == nil; open && asked[i.host] < wantsAtOnce {
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
	said := answerRecord{Host: asker, Want: w.revision, Denied: c.engaged(w.place, asker)}
	if said.Denied == "" {
		if err := c.lender.Lend(w.place.network, w.place.addr); err != nil {
			said.Denied = heddle.CauseOf(err)
		}
	}
	block, err := c.setAside(w.place, asker, said.Denied == "")
	if err != nil && said.Denied == "" {
		c.lender.Reclaim(w.place.network, w.place.addr)
	}
	c.lending.Unlock()
	if err != nil || block.Key == "" {
		return err
	}
	_, _, err = c.commit(ctx, store.Change{
		Require: []store.Condition{{Key: w.key, Revision: w.revision}, block},
		Put:     []store.Entry{put(answerKey(c.o.Self.Name, w.host, w.place), said)},
	})
	return err
}

// engaged says which other host has an address, or may have it.
func (c *Cluster) engaged(p place, asker string) string {
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

// setAside records on the disk that the asker may have the address, and returns
// the condition that its block is still this host's; none if it is not.
func (c *Cluster) setAside(p place, asker string, aside bool) (store.Condition, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, held := c.memory.holder(p)
	if !held {
		return store.Condition{}, errors.New("the block was given back meanwhile")
	}
	key := blockKey(b.network, b.prefix)
	block := store.Condition{Key: key, Revision: c.record.revisionOf(key)}
	if host, out := c.memory.Lent[p]; !aside || out && host == asker {
		return block, nil
	}
	return block, c.keep(func(m *memory) { m.Lent[p] = asker })
}

// mendLent checks each lent address: which host has it now, and whether any host still has
// it.
func (c *Cluster) mendLent(ctx context.Context) error {
	c.mu.Lock()
	all := map[place]string{}
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
		_, mine := c.memory.holder(i.place)
		if list := c.record.pinsOf(i.place); mine && list[len(list)-1].key == i.key && c.memory.Lent[i.place] != v.Host {
			moved[i.place] = v.Host
		}
	}
	if len(moved) == 0 {
		return nil
	}
	return c.keep(func(m *memory) {
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
		_, is := i.said.(*answerRecord)
		if !is || i.host != c.o.Self.Name {
			continue
		}
		v, taken := i.value.(*answerRecord)
		want, pin := wantKey(i.asker, i.place), c.record.items[pinKey(i.asker, i.place)]
		change := store.Change{Delete: []string{i.key}, Require: []store.Condition{{Key: i.key, Revision: i.revision}}}
		_, out := c.memory.Lent[i.place]
		_, sent := c.memory.Sent[i.place]
		switch {
		case !taken: // so no pin can come from it
		case pin.key != "":
			change.Require = append(change.Require, store.Condition{Key: pin.key, Revision: pin.revision})
		case v.Move != nil && (out && c.memory.Lent[i.place] == v.Host || sent || c.sending[i.place] || !c.lapsed(i)):
			continue // it waits for the host that it was sent to
		case v.Move == nil && (c.record.revisionOf(want) != 0 || out && v.Denied == ""):
			continue
		default:
			change.Require = append(change.Require, store.Condition{Key: pinKey(i.asker, i.place)})
		}
		all = append(all, change)
	}
	return all
}

// reclaim takes an address back if its host neither wants nor pins it. This is certain at
// the commit that deletes the answer: without an answer, there is no pin.
func (c *Cluster) reclaim(ctx context.Context, p place, host string) error {
	c.mu.Lock()
	name := c.record.hostName(host)
	key := answerKey(c.o.Self.Name, name, p)
	answer := c.record.items[key]
	said, _ := answer.value.(*answerRecord)
	waits := c.record.revisionOf(wantKey(name, p)) != 0 || len(c.record.pinsOf(p)) > 0
	waits = waits || said != nil && said.Move != nil && !c.lapsed(answer)
	change := store.Change{Require: []store.Condition{{Key: wantKey(name, p)}, {Key: pinKey(name, p)}}}
	for _, i := range c.record.items { // all: an address may have gone further
		if _, is := i.value.(*answerRecord); is && i.host == c.o.Self.Name && i.place == p {
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
	return c.backHere(p, func(m *memory) { delete(m.Lent, p) })
}

// backHere forgets that another host has an address, and ends its Lend.
func (c *Cluster) backHere(p place, forget func(*memory)) error {
	c.lending.Lock()
	defer c.lending.Unlock()
	c.mu.Lock()
	err := c.keep(forget)
	c.mu.Unlock()
	if err == nil && c.lender != nil {
		c.lender.Reclaim(p.network, p.addr)
	}
	return err
}

// lapsed says that a move was not taken up in time. The caller holds the lock.
func (c *Cluster) lapsed(answer item) bool {
	first, seen := c.since[answer.key]
	if !seen {
		first = time.Now()
		c.since[answer.key] = first
	}
	return time.Since(first) > c.o.MoveTime
}

// lapse fires when the first move may lapse.
func (c *Cluster) lapse() <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.since {
		if c.record.revisionOf(key) == 0 {
			delete(c.since, key)
		}
	}
	if len(c.since) == 0 {
		return nil
	}
	return time.After(c.o.MoveTime / 10)
}
