package agent

import (
	"context"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// A NIC of a pool goes back there when its endpoint has gone, and is given to the next one when it has cooled down. The provider is not asked.
// An agent that was killed meanwhile finds it with the provider, by its token, and does the same.

// renewTime limits how long the kernel may take to find a NIC again that was made as new.
const renewTime = 5 * time.Second

// comesBack puts the NIC of an endpoint that has gone back into its pool. It reports false for one that is to be taken out: it was plugged in
// for this endpoint alone, may go to another machine, was not let go of, or the pool has no room.
func (p *plugs) comesBack(e heddle.Endpoint) bool {
	given := e.NIC.Plugged
	w, pooled := p.warmNetwork(e.Network)
	if p.provider == nil || !pooled || e.MovesTo != "" {
		return false
	}
	c := nic.Card{Token: given.Token, Network: w.on, MAC: e.MAC, Addrs: e.PortAddrs(), Gateways: given.Gateways, Closed: given.Closed, MTU: e.MTU,
		Asked: e.LimitsAsked, Limits: e.Limits, Plugged: true}
	return p.isWaiting(w, c.Token) || p.expect(w, c, true) && p.rest(w, c)
}

// adopt reserves a place in a pool for a NIC that nobody has: an earlier agent kept it, or was killed when an endpoint had it.
func (p *plugs) adopt(c nic.Card) (w warmNetwork, is bool) {
	if !c.Plugged || c.To != "" || c.From != "" {
		return w, false
	}
	for _, w := range p.warmNetworks() {
		if w.on == c.Network && p.expect(w, c, false) {
			return w, true
		}
	}
	return w, false
}

// isWaiting reports whether the NIC is in the pool.
func (p *plugs) isWaiting(w warmNetwork, token string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.poolLocked(w).has(token)
}

// expect reserves a place in the pool, if it has room and the NIC is one of a pool. An endpoint has had it until now (had), or nobody has.
func (p *plugs) expect(w warmNetwork, c nic.Card, had bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.poolLocked(w)
	if !strings.HasPrefix(c.Token, warmToken) || had != (p.wanted[c.Token] != "") || p.left[c.Token] != "" || p.suspect[c.Token] || own.has(c.Token) || !own.hasRoom() {
		return false
	}
	own.coming++
	p.wanted[c.Token] = c.MAC
	return true
}

// rest makes a NIC as new that the pool expects, without the limits that its endpoint had. It is given when it has cooled down. After a failure it
// is to be taken out.
func (p *plugs) rest(w warmNetwork, c nic.Card) bool {
	defer p.tokens.Lock(c.Token)()
	c, err := p.unlimit(c)
	if err == nil {
		err = p.renew(c)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.poolLocked(w)
	own.coming--
	if err != nil {
		p.leaveLocked(c.Token, c.MAC)
		p.log.Warn("a NIC does not go back into its pool, and is taken out", "network", w.name, "mac", c.MAC, "error", err)
		return false
	}
	own.nics = append(own.nics, waitingNIC{c, time.Now().Add(coolDown)})
	return true
}

// renew makes a NIC that is on the host as new.
func (p *plugs) renew(c nic.Card) error {
	p.tokens.mustHold(c.Token)
	n, err := p.find(c)
	if err == nil {
		kept := heddle.NIC{MAC: c.MAC} // its name may be another one
		kept.Was.Device = n.Was.Device
		err = p.holds.keepOff(kept)
	}
	if err == nil {
		err = p.trip.step("renew NIC")
	}
	if err == nil {
		err = p.kernel.RenewNIC(n)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewTime)
	defer cancel()
	_, err = p.await(ctx, c)
	return err
}

// distrust notes that a container did not let go of its NIC. It is given to nobody again.
func (p *plugs) distrust(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.suspect[token] = true
}
