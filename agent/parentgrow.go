package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// grow gets one more set of addresses for a network.
func (ps *parents) grow(ctx context.Context, w parentNetwork) error {
	ps.taking.mustHold(w.id)
	giver, ok := ps.plugs.provider.(nic.Addresser)
	if !ok {
		return oneAddress("assign address to NIC", w.name)
	}
	listed, most, err := ps.know(ctx)
	switch {
	case err != nil || listed: // then one may be there
		return err
	case most == 0:
		return oneAddress("assign address to NIC", w.name)
	}
	ps.mu.Lock()
	token, sets := "", 0
	if n := ps.poolLocked(w.id).withRoom(most); n != nil {
		token, sets = n.Token, len(n.sets)
	}
	ps.mu.Unlock()
	if token != "" {
		return ps.assign(ctx, giver, w, token, sets+1)
	}
	n, card, err := ps.plugIn(ctx, w)
	if err != nil {
		return err
	}
	ps.mu.Lock()
	own := ps.poolLocked(w.id)
	ps.changes++
	own.nics = append(own.nics, &sharedNIC{changed: ps.changes,
		ParentNIC: heddle.ParentNIC{Name: n.Name, MAC: n.MAC, MTU: n.Was.MTU, Token: card.Token, Gateways: card.Gateways, Closed: card.Closed, Routed: ps.routedLocked(w, card)}})
	ps.mu.Unlock()
	err = ps.assign(ctx, giver, w, card.Token, 1)
	if err == nil {
		return nil
	}
	ps.mu.Lock()
	bare := ps.poolLocked(w.id).takeBare(card.Token)
	ps.mu.Unlock()
	if bare {
		ps.plugs.giveBack(context.Background(), card.Token, n.MAC)
	}
	return err
}

// routedLocked is what the host needs to route by a new NIC: the first table that no NIC has.
func (ps *parents) routedLocked(w parentNetwork, card nic.Card) *heddle.RoutedNIC {
	if !w.routed {
		return nil
	}
	has := map[int]bool{}
	for _, own := range ps.pools {
		for _, n := range own.nics {
			has[n.table()] = true
		}
	}
	number := heddle.ParentTables
	for has[number] {
		number++
	}
	return &heddle.RoutedNIC{Addrs: card.Addrs, Table: number}
}

// table returns the number of the routing table that a NIC has; 0 if it has none.
func (n *sharedNIC) table() int {
	if n.Routed == nil {
		return 0
	}
	return n.Routed.Table
}

// plugIn has a NIC plugged in that endpoints share.
func (ps *parents) plugIn(ctx context.Context, w parentNetwork) (heddle.NIC, nic.Card, error) {
	digits := make([]byte, 16)
	rand.Read(digits) // never fails
	token := parentToken + hex.EncodeToString(digits)
	mac := heddle.EndpointID{Container: token, IfName: "eth0"}.DefaultMAC(w.id, 0)
	return ps.plugs.plugWithRoom(ctx, nic.Order{Token: token, Network: w.on, MAC: mac, Chosen: ps.plugs.chosen(token, mac)})
}

// assign has the provider give a NIC further addresses.
func (ps *parents) assign(ctx context.Context, giver nic.Addresser, w parentNetwork, token string, sets int) error {
	ctx, cancel := context.WithTimeout(ctx, assignTime)
	defer cancel()
	if err := ps.plugs.trip.step("assign address"); err != nil {
		return err
	}
	defer ps.changing(w, token)()
	card, err := giver.Assign(ctx, token, sets)
	if err != nil {
		return err
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	n := ps.poolLocked(w.id).find(token)
	if n == nil {
		return nil
	}
	n.learn(card, time.Time{})
	if len(n.sets) < sets {
		return heddle.Errorf(heddle.NICServiceDown, "assign address to NIC", string(n.MAC), fmt.Sprintf("its provider gave %d addresses, and %d were asked for", len(n.sets), sets), "look at the provider's log")
	}
	return nil
}

// changing notes that the addresses of a NIC change, until end is called.
func (ps *parents) changing(w parentNetwork, token string) (end func()) {
	note := func(when int) {
		if n := ps.poolLocked(w.id).find(token); n != nil {
			n.changed = when
		}
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	note(math.MaxInt)
	return func() {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		ps.changes++
		note(ps.changes)
	}
}

// changedSoFar is how often addresses have changed. Who asks the provider what there is looks here first.
func (ps *parents) changedSoFar() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.changes
}

// know asks the provider what there is, if that has not been done since the start, and returns how many sets of addresses a NIC may have.
func (ps *parents) know(ctx context.Context) (listed bool, most int, err error) {
	ps.mu.Lock()
	known := ps.listed
	ps.mu.Unlock()
	most = ps.plugs.addressesEach()
	if known && most > 0 {
		return false, most, nil
	}
	before := ps.changedSoFar()
	all, err := ps.plugs.list(ctx)
	if err != nil {
		return false, 0, err
	}
	ps.learn(all, before)
	return !known, ps.plugs.addressesEach(), nil
}

// learn notes what the provider has. Addresses of which nobody knew cool first: it is not known who had them. before is changedSoFar, as it was
// before the provider was asked: all is behind for a NIC whose addresses have changed since.
func (ps *parents) learn(all []nic.Card, before int) {
	here := map[heddle.MAC]bool{}
	for _, l := range ps.plugs.host.now().Links {
		here[l.MAC] = true
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.listed = true
	for _, own := range ps.pools {
		for _, c := range all {
			if n := own.find(c.Token); n != nil && n.changed <= before {
				n.learn(c, time.Now().Add(coolDown))
			}
		}
		for _, n := range own.nics { // a list may lack a new one
			if n.changed <= before {
				n.gone = !here[n.MAC]
			}
		}
	}
}
