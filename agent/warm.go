package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Warm NICs are plugged in before an endpoint asks for one (--opt warm=MIN-MAX). An attach that takes one does not wait for the
// provider. Another one is plugged in then.

// warmToken begins the tokens of NICs that were plugged in for the pool of a network. So an agent that starts knows them. Such a NIC
// keeps its token while an endpoint has it.
const warmToken = "w-"

// warmNetwork is a network that has a pool of NICs.
type warmNetwork struct {
	id, name string
	// on is the provider's network.
	on string
	// least and most say how many NICs it wants.
	least, most int
}

// warmNetworks lists the networks that have a pool.
func (p *plugs) warmNetworks() (all []warmNetwork) {
	for _, n := range p.networks.all() {
		mode, err := p.modes.find(n.Mode)
		giver, ok := mode.(heddle.NICGiver)
		if err != nil || !ok {
			continue
		}
		if least, most := giver.WarmNICs(n); most > 0 {
			all = append(all, warmNetwork{n.ID, n.Name, giver.PlugsOn(n), least, most})
		}
	}
	return all
}

// warmNetwork finds a network that has a pool.
func (p *plugs) warmNetwork(id string) (w warmNetwork, is bool) {
	for _, w := range p.warmNetworks() {
		if w.id == id {
			return w, true
		}
	}
	return w, false
}

// poolLocked is a network's pool.
func (p *plugs) poolLocked(w warmNetwork) *nicPool {
	if p.pools[w.id] == nil {
		p.pools[w.id] = &nicPool{}
	}
	own := p.pools[w.id]
	own.least, own.most = w.least, w.most
	return own
}

// warmOrder orders a NIC for the pool of a network.
func (p *plugs) warmOrder(w warmNetwork) nic.Order {
	digits := make([]byte, 16)
	rand.Read(digits) // never fails
	token := warmToken + hex.EncodeToString(digits)
	mac := heddle.EndpointID{Container: token, IfName: "eth0"}.DefaultMAC(w.id, 0)
	return nic.Order{Token: token, Network: w.on, MAC: mac, Chosen: p.chosen(token, mac)}
}

// keepPools fills the pools whenever it is asked for, until ctx ends. What does not succeed is tried less and less often. An order that hangs
// keeps no look waiting.
func (p *plugs) keepPools(ctx context.Context) {
	told, again := "", plugsAgain
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.fill:
		}
		err := errors.Join(p.keepWarm(ctx), p.parents.keep(ctx))
		if err == nil {
			told, again = "", plugsAgain
			continue
		}
		if now := heddle.CauseOf(err); now != told && ctx.Err() == nil { // the object is a NIC of a new name each time
			told = now
			p.log.Warn("a pool has fewer NICs or addresses than it should have; it is tried again", "error", err)
		}
		pause(ctx, again)
		again = min(2*again, plugsEvery)
	}
}

// keepWarm has NICs plugged in until each pool has as many as it should have, and those taken out that it has not needed for long, or
// whose network is gone. It orders none that the provider would refuse.
func (p *plugs) keepWarm(ctx context.Context) error {
	networks := p.warmNetworks()
	p.dropWarm(ctx)
	var errs []error
	for _, w := range networks {
		for err := error(nil); err == nil && ctx.Err() == nil && p.mayPlugWarm(w); {
			err = p.plugWarm(ctx, w)
			errs = append(errs, err)
		}
		p.mu.Lock()
		idle, is := p.poolLocked(w).takeIdle(time.Now())
		p.mu.Unlock()
		if is {
			p.giveBack(context.Background(), idle.Token, idle.MAC)
		}
	}
	return errors.Join(errs...)
}

// mayPlugWarm reports whether a pool lacks a NIC that the provider can give. Attaches that wait for one of their own come first.
func (p *plugs) mayPlugWarm(w warmNetwork) bool {
	if _, is := p.warmNetwork(w.id); !is {
		return false // it has been deleted meanwhile
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.poolLocked(w).lacks(time.Now()) && p.offer.Free > p.ordering
}

// plugWarm has one NIC plugged in for a pool.
func (p *plugs) plugWarm(ctx context.Context, w warmNetwork) error {
	_, card, err := p.plug(ctx, p.warmOrder(w))
	if err != nil {
		return err
	}
	if _, is := p.warmNetwork(w.id); !is { // it has been deleted meanwhile
		p.giveBack(context.Background(), card.Token, card.MAC)
		return nil
	}
	p.noteGiven()
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.poolLocked(w)
	own.nics = append(own.nics, waitingNIC{card, time.Now()})
	return nil
}

// dropWarm has the NICs taken out of the pools whose networks are gone, or have a pool no more.
func (p *plugs) dropWarm(ctx context.Context) {
	stays := map[string]bool{}
	for _, w := range p.warmNetworks() {
		stays[w.id] = true
	}
	p.mu.Lock()
	var gone []waitingNIC
	for id, own := range p.pools {
		if !stays[id] {
			gone = append(gone, own.nics...)
			delete(p.pools, id)
		}
	}
	p.mu.Unlock()
	for _, c := range gone {
		p.giveBack(ctx, c.Token, c.MAC)
	}
}

// emptyPools has the NICs taken out that wait for endpoints of a network that was deleted, and waits for that, for plugTime at most. What is not
// out then is taken out later.
func (p *plugs) emptyPools(network string) {
	ctx, cancel := context.WithTimeout(context.Background(), plugTime)
	defer cancel()
	p.dropWarm(ctx)
	p.parents.dropAll(ctx, network)
}

// pooled are the tokens of the NICs that wait in pools.
func (p *plugs) pooled() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]bool{}
	for _, own := range p.pools {
		for _, n := range own.nics {
			all[n.Token] = true
		}
	}
	return all
}

// dropLost forgets NICs of pools that the provider says are not plugged in any more, or that the host does not have: somebody has taken them out
// by hand, or moved them; or that have limits, which an agent that was killed had asked for at the last moment. all is what the provider lists; a cloud may list a new one late. before are those that waited when it was asked. What
// is left of them is taken out.
func (p *plugs) dropLost(all []nic.Card, before map[string]bool) error {
	if err := p.host.refresh(); err != nil {
		return err
	}
	plugged, here := map[string]bool{}, map[heddle.MAC]bool{}
	for _, c := range all {
		plugged[c.Token] = c.Plugged && c.To == "" && c.From == "" && c.Asked.IsZero()
	}
	for _, l := range p.host.now().Links {
		here[l.MAC] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, own := range p.pools {
		for i := len(own.nics) - 1; i >= 0; i-- {
			n := own.nics[i]
			listed, is := plugged[n.Token]
			if before[n.Token] && (is && !listed || !here[n.MAC]) {
				own.remove(i)
				p.leaveLocked(n.Token, n.MAC)
			}
		}
	}
	return nil
}
