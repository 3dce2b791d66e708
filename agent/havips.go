package agent

import (
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
)

// havips are the addresses of this host that one of several endpoints holds, and what the kernel has for them. That is computed from them, from
// the endpoints and from who holds them.
type havips struct {
	kernel     PlanApplier
	listener   Listener
	log        *slog.Logger
	trip       tripwire
	ledger     *ledger
	networks   *register
	records    *records
	policies   *policies
	wanted     *wantedObjects
	problems   *problems
	background *sync.WaitGroup

	// unsettled says that something has failed, and that the patrol has to try it again.
	unsettled atomic.Bool
	// updating is held while the kernel is brought in line. ears hear announcements, by the network's ID; after the agent's end there are none.
	updating mutex[atHAVIPs]
	ears     map[string]*ear
	stop     chan struct{}
	stopped  bool
	// gone is what could not be removed yet; the patrol tries it again.
	gone leftovers

	mu rwMutex[atHAVIPList]
	// all, holders and state are replaced as a whole, by the holder of updating.
	all     havip.All
	holders havip.Holders
	state   heddle.State
}

// havipOwner owns the objects of HAVIPs among problems and findings.
const havipOwner = "HAVIPs"

// now returns the addresses, and who holds them. Nobody changes them.
func (v *havips) now() (havip.All, havip.Holders) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.all, v.holders
}

// wants is what the kernel has for them.
func (v *havips) wants() heddle.State {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.state
}

func (v *havips) set(all havip.All, holders havip.Holders, state heddle.State) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all, v.holders, v.state = all, holders, state
}

// members are the endpoints of this host, as candidates.
func (v *havips) members() (all []havip.Member) {
	networks := map[string]*network{}
	for _, n := range v.networks.copies() {
		networks[n.ID] = n
	}
	v.records.each(func(r record, _ string) {
		if n := networks[r.Endpoint.Network]; n != nil && holdsHAVIPs(n) {
			m := havip.Member{Member: v.policies.member(n, r.Endpoint), NetworkID: n.ID, MAC: r.Endpoint.MAC}
			m.Port = r.Endpoint.ID.PortName()
			all = append(all, m)
		}
	})
	return all
}

func holdsHAVIPs(n *network) bool {
	h, can := n.mode.(heddle.HAVIPHolder)
	return can && h.HoldsHAVIPs()
}

// compile computes what the kernel has to have.
func (v *havips) compile(all havip.All, holders havip.Holders, members []havip.Member) heddle.State {
	networks := map[string]heddle.Network{}
	for _, n := range v.networks.all() {
		networks[n.ID] = n
	}
	return all.Compile(networks, members, holders)
}

// apply brings the kernel in line with addresses and holders. After an error all is as before.
func (v *havips) apply(all havip.All, holders havip.Holders, members []havip.Member) error {
	old, next := v.state, v.compile(all, holders, members)
	add, gone := heddle.Delta(old, next)
	v.wanted.add(next)
	if !add.Empty() {
		if _, err := v.kernel.Apply(heddle.Plan{Host: add}, nil); err != nil {
			v.wanted.drop(next)
			return err
		}
	}
	v.set(all, holders, next)
	v.wanted.drop(old)
	v.gone.add(gone)
	v.listen()
	v.gone.remove(v.kernel, v.wanted)
	v.tell(nil)
	return nil
}

// refresh follows endpoints that have come, changed or gone: an address whose holder has gone is free. What fails is told, and tried again.
func (v *havips) refresh() {
	v.updating.Lock()
	defer v.updating.Unlock()
	if len(v.all) == 0 && len(v.gone.states) == 0 {
		return
	}
	members := v.members()
	holders := v.all.Valid(v.holders, members)
	var err error
	if !maps.Equal(holders, v.holders) || v.unsettled.Load() {
		err = v.ledger.putHolders(holders)
	}
	if err = errors.Join(err, v.apply(v.all, holders, members)); err != nil {
		v.tell(err)
	}
}

// tell tells of what has failed, and has the patrol try it again.
func (v *havips) tell(err error) {
	err = errors.Join(err, v.gone.err)
	v.unsettled.Store(err != nil)
	v.problems.noteUnrepaired(havipOwner, err)
	if err != nil {
		v.log.Error("HAVIPs are not as they should be", "error", err)
	}
}

// hold makes endpoints the holders of addresses, by the addresses' names.
func (v *havips) hold(next havip.Holders, members []havip.Member) error {
	holders := maps.Clone(v.holders)
	if holders == nil {
		holders = havip.Holders{}
	}
	maps.Copy(holders, next)
	if err := v.trip.step("ledger holders"); err != nil {
		return err
	}
	if err := v.ledger.putHolders(holders); err != nil {
		return err
	}
	if err := v.apply(v.all, holders, members); err != nil {
		return errors.Join(err, v.ledger.putHolders(v.holders))
	}
	for name, id := range next {
		v.log.Info("an address has another holder", "havip", name, "endpoint", id)
	}
	return nil
}
