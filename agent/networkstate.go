package agent

import (
	"fmt"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
	"github.com/heddle-network/heddle/mode/parts"
)

// network is a network with its state on this host. Readers get copies of it. The parts that
// change with every endpoint are behind pointers.
type network struct {
	heddle.Network
	mode heddle.Mode
	plan heddle.Plan
	// unplanned is why the network has no plan: its parent does not exist (yet).
	unplanned  error
	pool       ipam.Source
	identities *identities
	usage      *usageLock
}

// blocks returns the network's source of addresses if that gives them out from blocks.
func (n *network) blocks() (ipam.Blocks, bool) {
	if n == nil {
		return nil, false
	}
	b, ok := n.pool.(ipam.Blocks)
	return b, ok
}

// usageLock is read-locked while endpoints are made, and write-locked while their network is
// deleted.
type usageLock struct {
	rwMutex[atUsage]
	deleted bool
}

// modes are the modes of the agent.
type modes []heddle.Mode

func (all modes) find(name string) (heddle.Mode, error) {
	for _, m := range all {
		if m.Name() == name {
			return m, nil
		}
	}
	return nil, heddle.Errorf(heddle.UnknownMode, "use mode", fmt.Sprintf("%q", name), "",
		"choose a mode: "+strings.Join(all.names(), ", "))
}

// Modes lists the modes of networks that have endpoints here.
func (a *Agent) Modes() []string { return a.modes.names() }

// names are those of modes that a user chooses from. Networks of the others are made by commands about VPCs.
func (all modes) names() (names []string) {
	for _, m := range all {
		if _, endless := m.(heddle.Endless); !endless {
			names = append(names, m.Name())
		}
	}
	return names
}

func noNetwork(name string) error {
	return heddle.Errorf(heddle.NoNetwork, "find network", fmt.Sprintf("%q", name), "",
		"name another network: 'heddle network list' shows those there are")
}

// planFor returns an endpoint's plan.
func (n *network) planFor(h heddle.HostFacts, e heddle.Endpoint) (heddle.Plan, error) {
	p, err := n.mode.Endpoint(h, n.Network, e)
	if err != nil || !e.Handover {
		return p, err
	}
	return parts.HandOver(p, e), nil
}

// plugsOn is the provider's network on which each endpoint gets a NIC; "" if none is plugged in for it.
func (n *network) plugsOn() string {
	if giver, gives := n.mode.(heddle.NICGiver); gives {
		return giver.PlugsOn(n.Network)
	}
	return ""
}

// leasedTo is the network as an endpoint has it; see heddle.Network.LeasedTo.
func (n *network) leasedTo(e heddle.Endpoint) *network {
	c := *n
	c.Network = n.LeasedTo(e)
	return &c
}

// engineRoutes returns the routes that the endpoint's engine has to make.
func (n *network) engineRoutes(h heddle.HostFacts, e heddle.Endpoint) []heddle.Route {
	p, err := n.mode.Endpoint(h, n.Network, e)
	if err != nil {
		return nil // the endpoint was planned before, so this does not happen
	}
	return parts.EngineRoutes(p, e)
}

// mtu returns the MTU of a container's device on the network, in bytes.
func (n *network) mtu(h heddle.HostFacts) int {
	if s, ok := n.mode.(heddle.Sizer); ok {
		return s.MTU(h, n.Network)
	}
	return parts.ResolveMTU(h, n.Network)
}
