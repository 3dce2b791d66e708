package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// refillAfter is how long after an attach a pool is filled again. The kernel's work for a new NIC takes time of the processor that the
// container needs for its first packets.
const refillAfter = time.Second

// fromPool returns a NIC for an endpoint of a network that has a pool. One that is ready is given without a word to the provider. Otherwise
// one is plugged in. If that fails, the first one serves that has cooled: so a provider that is away stops nobody for whom there is a NIC.
func (p *plugs) fromPool(ctx context.Context, w warmNetwork) (heddle.NIC, nic.Card, error) {
	ctx, cancel := context.WithTimeout(ctx, plugTime)
	defer cancel()
	order := p.warmOrder(w) // one that is tried again finds what was left
	for {
		n, card, ok := p.takeWarm(w)
		if ok {
			return n, card, nil
		}
		n, card, err := p.plugMeanwhile(ctx, w, order)
		if err == nil {
			p.noteAttach(w)
			return n, card, nil
		}
		at, is := p.nextReady(w)
		switch {
		case !is:
			return n, card, err
		case !pause(ctx, min(time.Until(at), plugsAgain)):
			if n, card, ok := p.takeWarm(w); ok { // it has cooled while the order hung
				return n, card, nil
			}
			return n, card, heddle.Wrap(heddle.Waited, "attach endpoint", "to network "+w.name,
				fmt.Errorf("the NICs of its pool rest for %v after an endpoint has had them, and no other can be plugged in: %w", coolDown, err), heddle.FirstRemedy(err, "attach again"))
		}
	}
}

// takeWarm gives a NIC of the pool that is ready, if there is one.
func (p *plugs) takeWarm(w warmNetwork) (heddle.NIC, nic.Card, bool) {
	for {
		p.mu.Lock()
		card, ok := p.poolLocked(w).take(time.Now()) // its token stays wanted
		p.mu.Unlock()
		if !ok {
			return heddle.NIC{}, nic.Card{}, false
		}
		n, err := p.find(card)
		time.AfterFunc(refillAfter, func() { signal(p.soon) })
		if err == nil {
			p.noteAttach(w)
			return n, card, true
		}
		p.leave(card.Token, card.MAC) // somebody else has taken it out; the provider, who may be away, is told later
	}
}

// plugMeanwhile has a NIC plugged in. While one cools, it does not wait for longer than that takes.
func (p *plugs) plugMeanwhile(ctx context.Context, w warmNetwork, order nic.Order) (heddle.NIC, nic.Card, error) {
	if at, is := p.nextReady(w); is {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(time.Until(at), offerTime))
		defer cancel()
	}
	return p.plugWithRoom(ctx, order)
}

// nextReady is since or from when the first of the pool's NICs can be given, if it has any.
func (p *plugs) nextReady(w warmNetwork) (at time.Time, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.poolLocked(w).next(time.Now())
}

func (p *plugs) noteAttach(w warmNetwork) {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.poolLocked(w)
	own.attaches = append(own.attaches, time.Now())
}

// plugWithRoom has a NIC plugged in. If the machine has as many as it may have, one that waits in a pool makes room.
func (p *plugs) plugWithRoom(ctx context.Context, order nic.Order) (heddle.NIC, nic.Card, error) {
	p.countOrders(1)
	defer p.countOrders(-1)
	n, card, err := p.plug(ctx, order)
	if heddle.NoSlot.In(err) != nil && p.makeRoom(ctx) {
		n, card, err = p.plug(ctx, order)
	}
	if err == nil {
		p.noteGiven()
	}
	return n, card, err
}

// noteGiven notes that the provider can give one NIC fewer than it said.
func (p *plugs) noteGiven() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offer.Free = max(0, p.offer.Free-1)
}

// countOrders counts the attaches that have a NIC plugged in.
func (p *plugs) countOrders(more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ordering += more
}

// makeRoom has a NIC of a pool taken out if the machine can have no more: the one that would be given last. It reports whether it has.
func (p *plugs) makeRoom(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	offer, err := p.provider.Describe(ctx)
	if err != nil || offer.Free > 0 { // another attach has made room
		return err == nil
	}
	p.mu.Lock()
	var from *nicPool
	for _, own := range p.pools {
		if len(own.nics) > 0 && (from == nil || len(own.nics) > len(from.nics)) {
			from = own
		}
	}
	var card nic.Card
	if from != nil {
		card, _ = from.takeNewest()
	}
	p.mu.Unlock()
	if from == nil {
		return false
	}
	p.giveBack(context.Background(), card.Token, card.MAC)
	return p.leftMAC(card.Token) == ""
}
