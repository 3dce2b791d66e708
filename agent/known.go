package agent

import (
	"fmt"
	"sync"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// network is a network with what belongs to it on this host. Readers get copies
// of it; what changes with every endpoint is behind pointers.
type network struct {
	heddle.Network
	mode heddle.Mode
	plan heddle.Plan
	// unplanned is why the network has no plan: its parent is not there (yet).
	unplanned error
	pool      ipam.Source
	// slots marks the ordinals in use.
	slots *slots
	macs  map[heddle.MAC]heddle.EndpointID
	life  *life
}

// blocks is the network's source of addresses if it gives them out of blocks.
func (n *network) blocks() (ipam.Blocks, bool) {
	if n == nil {
		return nil, false
	}
	b, ok := n.pool.(ipam.Blocks)
	return b, ok
}

// life is held for reading while endpoints are made, for writing while their
// network is deleted.
type life struct {
	sync.RWMutex
	gone bool
}

func (a *Agent) mode(name string) (heddle.Mode, error) {
	names := []string{}
	for _, m := range a.opt.Modes {
		if m.Name() == name {
			return m, nil
		}
		names = append(names, m.Name())
	}
	return nil, heddle.Errorf(heddle.UnknownMode, "mode", fmt.Sprintf("%q", name), fmt.Sprintf("this agent has %v", names))
}

// Modes lists the modes the agent has.
func (a *Agent) Modes() []string {
	var names []string
	for _, m := range a.opt.Modes {
		names = append(names, m.Name())
	}
	return names
}

// network returns a copy of the record of the network with the name, or else with
// the ID: doors whose networks are renamed call them by that.
func (a *Agent) network(name string) (*network, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	n, ok := a.networks[name]
	if !ok {
		n = a.networkHeld(name)
	}
	if n == nil {
		return nil, noNetwork(name)
	}
	c := *n
	return &c, nil
}

// networkFor returns a copy of the record of an endpoint's network, whatever it is
// called by now.
func (a *Agent) networkFor(e heddle.Endpoint) (*network, error) {
	if n := a.networkByID(e.Network); n != nil {
		return n, nil
	}
	return nil, noNetwork(e.NetworkName)
}

// networkByID returns a copy of a network's record, nil if there is none.
func (a *Agent) networkByID(id string) *network {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if n := a.networkHeld(id); n != nil {
		c := *n
		return &c
	}
	return nil
}

// networkHeld is the record itself, nil if there is none. The caller holds mu.
func (a *Agent) networkHeld(id string) *network {
	for _, n := range a.networks {
		if n.ID == id {
			return n
		}
	}
	return nil
}

func noNetwork(name string) error {
	return heddle.Errorf(heddle.NoNetwork, "network", fmt.Sprintf("%q", name), "'heddle network list' shows those there are")
}

// host returns what is known about the host.
func (a *Agent) host() heddle.HostFacts {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.facts
}
