package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Warm NICs are plugged in before an endpoint asks for one (--opt warm=N). An attach that takes one does not wait for the
// provider. Another one is plugged in then.

// warmToken begins the tokens of NICs that were plugged in for no endpoint. So an agent that starts knows them.
const warmToken = "w-"

// takeWarm returns a warm NIC of the network, if there is one. Its token stays wanted.
func (p *plugs) takeWarm(network string) (nic.Card, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.warm[network]
	if len(all) == 0 {
		return nic.Card{}, false
	}
	p.warm[network] = all[1:]
	signal(p.soon)
	return all[0], true
}

// warmNetwork is a network that wants warm NICs.
type warmNetwork struct {
	id string
	// on is the provider's network.
	on string
	// count is how many NICs it wants.
	count int
}

// warmNetworks lists the networks that want warm NICs.
func (p *plugs) warmNetworks() (all []warmNetwork) {
	for _, n := range p.networks.all() {
		mode, err := p.modes.find(n.Mode)
		if giver, ok := mode.(heddle.NICGiver); err == nil && ok && giver.WarmNICs(n) > 0 {
			all = append(all, warmNetwork{n.ID, giver.PlugsOn(n), giver.WarmNICs(n)})
		}
	}
	return all
}

// adopt makes a NIC warm that was plugged in for no endpoint, if a network wants one more: an earlier agent kept it.
func (p *plugs) adopt(c nic.Card) bool {
	if !strings.HasPrefix(c.Token, warmToken) || !c.Plugged || c.To != "" || c.From != "" {
		return false
	}
	networks := p.warmNetworks()
	if !slices.ContainsFunc(networks, func(n warmNetwork) bool { return n.on == c.Network }) {
		return false
	}
	if err := p.holds.keepOff(heddle.NIC{MAC: c.MAC}); err != nil { // the files of a NIC of no endpoint were removed at the start
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range networks {
		if n.on == c.Network && len(p.warm[n.id]) < n.count && p.left[c.Token] == "" {
			p.warm[n.id] = append(p.warm[n.id], c)
			p.wanted[c.Token] = c.MAC
			return true
		}
	}
	return false
}

// keepWarm has NICs plugged in until each network has as many warm ones as it wants, and those taken out of networks that are gone.
func (p *plugs) keepWarm(ctx context.Context) error {
	networks := p.warmNetworks()
	p.dropWarm(networks)
	var errs []error
	for _, n := range networks {
		for err := error(nil); err == nil && ctx.Err() == nil && p.lacksWarm(n); {
			err = p.plugWarm(ctx, n)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (p *plugs) lacksWarm(n warmNetwork) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.warm[n.id]) < n.count
}

// plugWarm has one NIC plugged in for a network.
func (p *plugs) plugWarm(ctx context.Context, n warmNetwork) error {
	digits := make([]byte, 16)
	rand.Read(digits) // never fails
	token := warmToken + hex.EncodeToString(digits)
	mac := heddle.EndpointID{Container: token, IfName: "eth0"}.DefaultMAC(n.id, 0)
	_, card, err := p.plug(ctx, nic.Order{Token: token, Network: n.on, MAC: mac, Chosen: p.chosen(token, mac)})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.warm[n.id] = append(p.warm[n.id], card)
	return nil
}

// dropWarm has the warm NICs taken out of networks that are not among those that want them.
func (p *plugs) dropWarm(networks []warmNetwork) {
	p.mu.Lock()
	var gone []nic.Card
	for id, cards := range p.warm {
		if !slices.ContainsFunc(networks, func(n warmNetwork) bool { return n.id == id }) {
			gone = append(gone, cards...)
			delete(p.warm, id)
		}
	}
	p.mu.Unlock()
	for _, c := range gone {
		p.giveBack(c.Token, c.MAC)
	}
}
