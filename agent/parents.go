package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// parents are the NICs that are plugged in for several endpoints each. They stay on the host, as parents of the endpoints' devices; each endpoint
// has a set of further addresses of one. The agent has no record of them but the endpoints': what no endpoint has is learned from the
// provider, or taken out.
type parents struct {
	plugs *plugs
	// taking is held for a network while an address is looked for, and while NICs or addresses come and go.
	taking keyed[atParents, string]

	mu mutex[atParentPools]
	// pools are those of the networks, by ID.
	pools map[string]*parentPool
	// listed says that the provider has told since the start which addresses there are.
	listed bool
	// changes counts how often the NICs' addresses have changed.
	changes int
}

// parentToken begins the tokens of NICs that endpoints share.
const parentToken = "p-"

// parentNetwork is a network whose parents are plugged in.
type parentNetwork struct {
	id, name string
	// on is the provider's network, warm how many addresses are to be there before an endpoint asks.
	on   string
	warm int
}

// networks lists the networks whose parents are plugged in.
func (ps *parents) networks() (all []parentNetwork) {
	for _, n := range ps.plugs.networks.all() {
		mode, err := ps.plugs.modes.find(n.Mode)
		if p, is := mode.(heddle.ParentPlugger); err == nil && is && p.ParentsOn(n) != "" {
			all = append(all, parentNetwork{n.ID, n.Name, p.ParentsOn(n), p.WarmAddresses(n)})
		}
	}
	return all
}

// network finds a network whose parents are plugged in.
func (ps *parents) network(id string) (w parentNetwork, is bool) {
	for _, w := range ps.networks() {
		if w.id == id {
			return w, true
		}
	}
	return w, false
}

func (ps *parents) poolLocked(network string) *parentPool {
	if ps.pools[network] == nil {
		ps.pools[network] = &parentPool{}
	}
	return ps.pools[network]
}

// take returns a NIC, and a set of its addresses, for an endpoint. If no address is ready, a NIC gets another one, or another NIC is plugged in.
func (ps *parents) take(ctx context.Context, w parentNetwork, id heddle.EndpointID) (heddle.ParentNIC, []netip.Prefix, error) {
	if n, addrs, ok := ps.takeReady(w, id); ok { // nobody has to wait for the provider then
		return n, addrs, nil
	}
	defer ps.taking.Lock(w.id)()
	ctx, cancel := context.WithTimeout(ctx, plugTime)
	defer cancel()
	for {
		if n, addrs, ok := ps.takeReady(w, id); ok {
			return n, addrs, nil
		}
		if err := ps.grow(ctx, w); err != nil {
			return heddle.ParentNIC{}, nil, err
		}
	}
}

// takeReady gives an address that is ready, of a NIC that the host has.
func (ps *parents) takeReady(w parentNetwork, id heddle.EndpointID) (heddle.ParentNIC, []netip.Prefix, bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	on, addrs, ok := ps.poolLocked(w.id).take(id, time.Now())
	if !ok {
		return heddle.ParentNIC{}, nil, false
	}
	signal(ps.plugs.soon) // another one may be wanted to wait
	return on.ParentNIC, addrs, true
}

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
	own.nics = append(own.nics, &sharedNIC{ParentNIC: heddle.ParentNIC{Name: n.Name, MAC: n.MAC, MTU: n.Was.MTU, Token: card.Token, Gateways: card.Gateways}, changed: ps.changes})
	ps.mu.Unlock()
	err = ps.assign(ctx, giver, w, card.Token, 1)
	if err == nil {
		return nil
	}
	ps.mu.Lock()
	bare := ps.poolLocked(w.id).takeBare(card.Token)
	ps.mu.Unlock()
	if bare {
		ps.plugs.giveBack(card.Token, n.MAC)
	}
	return err
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
	ctx, cancel := context.WithTimeout(ctx, offerTime)
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

// give ends what an endpoint has.
func (ps *parents) give(network string, id heddle.EndpointID) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.poolLocked(network).give(id, time.Now())
}

// restore notes, at start, what a recorded endpoint has.
func (ps *parents) restore(e heddle.Endpoint) {
	if e.Parent == nil {
		return
	}
	ps.plugs.want(e.Parent.Token, e.Parent.MAC)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.poolLocked(e.Network).note(e)
}

// keep keeps the addresses that networks want to wait, and gives back what nobody needs.
func (ps *parents) keep(ctx context.Context) error {
	var errs []error
	stays := map[string]bool{}
	for _, w := range ps.networks() {
		stays[w.id] = true
		errs = append(errs, ps.keepOne(ctx, w))
	}
	ps.mu.Lock()
	var others []string
	for id := range ps.pools {
		if !stays[id] {
			others = append(others, id)
		}
	}
	ps.mu.Unlock()
	for _, id := range others {
		ps.dropAll(id)
	}
	return errors.Join(errs...)
}

func (ps *parents) keepOne(ctx context.Context, w parentNetwork) error {
	for more := true; more; {
		var err error
		if more, err = ps.growWarm(ctx, w); err != nil {
			return err
		}
	}
	defer ps.taking.Lock(w.id)()
	ps.dropEmpty(w, w.warm)
	ps.mu.Lock()
	on, addrs, is := ps.poolLocked(w.id).takeSurplus(w.warm, time.Now())
	ps.mu.Unlock()
	giver, can := ps.plugs.provider.(nic.Addresser)
	if !is || !can {
		return nil
	}
	if err := ps.plugs.trip.step("unassign address"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	defer ps.changing(w, on.Token)()
	return giver.Unassign(ctx, on.Token, addrs[0].Addr()) // after an error it is learned again
}

// growWarm gets one more set if fewer are ready than the network wants to wait. An attach that has none may come between two of them.
func (ps *parents) growWarm(ctx context.Context, w parentNetwork) (more bool, err error) {
	defer ps.taking.Lock(w.id)()
	ps.mu.Lock()
	_, ready, _ := ps.poolLocked(w.id).counts(time.Now())
	ps.mu.Unlock()
	if ready >= w.warm || ctx.Err() != nil {
		return false, nil
	}
	return true, ps.grow(ctx, w)
}

// dropEmpty has the NICs of a network taken out that nobody uses.
func (ps *parents) dropEmpty(w parentNetwork, warm int) {
	ps.taking.mustHold(w.id)
	for {
		ps.mu.Lock()
		n, is := ps.poolLocked(w.id).takeEmpty(warm, time.Now())
		ps.mu.Unlock()
		if !is {
			return
		}
		ps.plugs.giveBack(n.Token, n.MAC)
	}
}

// dropAll has the NICs of a network taken out that is gone. One that was made meanwhile keeps them.
func (ps *parents) dropAll(network string) {
	defer ps.taking.Lock(network)()
	if _, is := ps.network(network); is {
		return
	}
	ps.mu.Lock()
	var all []heddle.ParentNIC
	if own := ps.pools[network]; own != nil {
		for _, n := range own.nics {
			all = append(all, n.ParentNIC)
		}
	}
	delete(ps.pools, network)
	ps.mu.Unlock()
	for _, n := range all {
		ps.plugs.giveBack(n.Token, n.MAC)
	}
}

// oneAddress is the error for a provider whose NICs have no further addresses.
func oneAddress(op, object string) error {
	return heddle.Errorf(heddle.BadOption, op, object, "who plugs NICs into this machine gives each one address of a family",
		"set addresses in the file of 'heddle nic serve', or use a network of mode direct")
}
