package agent

import (
	"context"
	"errors"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// await returns the NIC of a card, which the kernel finds some time after it was plugged in.
func (p *plugs) await(ctx context.Context, card nic.Card) (heddle.NIC, error) {
	if err := p.trip.step("await NIC"); err != nil {
		return heddle.NIC{}, err
	}
	began := time.Now()
	why := errors.New("the provider has plugged it in, and the kernel does not show it")
	for {
		links, err := p.lookout.links(ctx)
		if err != nil {
			return heddle.NIC{}, err
		}
		n, is, err := p.among(links, card)
		switch {
		case err != nil:
			why = err // its driver may not be done with it
		case is:
			if card.Dark > 0 {
				n.Plugged.Left = began.Add(-card.Dark)
			}
			p.holds.managers().Settle() // it leaves the host soon
			return n, nil
		}
		if !pause(ctx, plugSeen) {
			return heddle.NIC{}, heddle.Wrap(heddle.Waited, "wait for plugged NIC", string(card.MAC), why, "look at the kernel's log ('dmesg'), and attach again")
		}
	}
}

// find returns the NIC of a card, which the kernel has found before. It looks once.
func (p *plugs) find(card nic.Card) (heddle.NIC, error) {
	if err := p.host.refresh(); err != nil {
		return heddle.NIC{}, err
	}
	n, is, err := p.among(p.host.now().Links, card)
	if err == nil && !is {
		err = heddle.Errorf(heddle.NICTaken, "find plugged NIC", string(card.MAC), "the host does not have it any more", "look at the kernel's log ('dmesg'), and at the provider's")
	}
	return n, err
}

// among finds the NIC of a card among interfaces of the host: the one whose permanent MAC address it is. Anybody can give an interface
// that MAC address. An error is of an interface that may be it; then n has its name alone.
func (p *plugs) among(links []heddle.LinkFact, card nic.Card) (n heddle.NIC, is bool, err error) {
	for _, l := range links {
		if l.MAC != card.MAC {
			continue
		}
		found, failed := p.kernel.Snapshot(l.Name)
		switch {
		case failed != nil:
			n, err = heddle.NIC{Name: l.Name}, failed
		case found.Was.Permanent == card.MAC:
			found.Plugged = &heddle.PluggedNIC{Token: card.Token, Gateways: card.Gateways, Closed: card.Closed}
			return found, true, nil
		}
	}
	return n, false, err
}
