package agent

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
)

// register has the networks of this host, and those that are being made, renamed or removed.
// Readers get copies. Events about a network are sent in order, because the register's lock is
// held.
type register struct {
	wanted   *wantedObjects
	reporter reporter
	// changedSignal signals that networks came, changed or went. Its capacity is one.
	changedSignal chan struct{}
	// namesAgain tells the tables of names of the same.
	namesAgain chan struct{}

	mu     rwMutex[atNetworks]
	byName map[string]*network
	// underway are the networks, by ID, that are being made, renamed or removed.
	underway map[string]*underway
	// changes counts the changes of byName and underway.
	changes uint64
}

func newRegister(w *wantedObjects, t reporter, namesAgain chan struct{}) *register {
	return &register{wanted: w, reporter: t, changedSignal: make(chan struct{}, 1), namesAgain: namesAgain, byName: map[string]*network{},
		underway: map[string]*underway{}}
}

// find returns a copy of the record of the network with that name, or else with that ID: doors use
// the ID for networks that may be renamed.
func (g *register) find(name string) (*network, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	n, ok := g.byName[name]
	if !ok {
		n = g.byIDLocked(name)
	}
	if n == nil {
		return nil, noNetwork(name)
	}
	c := *n
	return &c, nil
}

// ofEndpoint returns a copy of the record of an endpoint's network, even if it was renamed.
func (g *register) ofEndpoint(e heddle.Endpoint) (*network, error) {
	if n := g.byID(e.Network); n != nil {
		return n, nil
	}
	return nil, noNetwork(e.NetworkName)
}

// byID returns a copy of a network's record, nil if there is none.
func (g *register) byID(id string) *network {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if n := g.byIDLocked(id); n != nil {
		c := *n
		return &c
	}
	return nil
}

func (g *register) byIDLocked(id string) *network {
	for _, n := range g.byName {
		if n.ID == id {
			return n
		}
	}
	return nil
}

// withSubnet returns a copy of the record of the network that has the subnet; nil if none has.
func (g *register) withSubnet(subnet netip.Prefix) *network {
	for _, n := range g.copies() {
		if slices.Contains(n.Subnets, subnet) {
			return n
		}
	}
	return nil
}

// copies returns copies of all records.
func (g *register) copies() []*network {
	g.mu.RLock()
	defer g.mu.RUnlock()
	all := make([]*network, 0, len(g.byName))
	for _, n := range g.byName {
		c := *n
		all = append(all, &c)
	}
	return all
}

// all lists the networks as they are shown, by name.
func (g *register) all() []heddle.Network {
	copies := g.copies()
	all := make([]heddle.Network, 0, len(copies))
	for _, n := range copies {
		all = append(all, withLimits(n.mode, n.Network))
	}
	slices.SortFunc(all, func(a, b heddle.Network) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// names returns the networks' present names, by ID.
func (g *register) names() map[string]string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	all := map[string]string{}
	for _, n := range g.byName {
		all[n.ID] = n.Name
	}
	return all
}

// none reports whether there is no network.
func (g *register) none() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.byName) == 0
}

// unplanned lists the networks that could not be planned.
func (g *register) unplanned() (all []heddle.Network) {
	for _, n := range g.copies() {
		if n.unplanned != nil {
			all = append(all, n.Network)
		}
	}
	return all
}

// outdated lists the networks whose plans do not match the host's other interfaces and sockets
// now.
func (g *register) outdated(host heddle.HostFacts) (all []heddle.Network) {
	for _, n := range g.copies() {
		if !heeds(n.plan.Host, host) {
			all = append(all, n.Network)
		}
	}
	return all
}

// ownSubnets returns the subnets of this host's networks that are in use nowhere else.
func (g *register) ownSubnets() (all []netip.Prefix) {
	for _, n := range g.copies() {
		_, guest := n.mode.(heddle.LANMode)
		if !guest && !mayShareSubnet(n.mode) && !hasCommonSubnet(n.mode) {
			all = append(all, n.Subnets...)
		}
	}
	return all
}

// put adds a network that was there before the agent started.
func (g *register) put(n *network) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.byName[n.Name] = n
}

// markShared notes that a network is shared with other hosts from now on; false if there is no such
// network.
func (g *register) markShared(id string) (heddle.Network, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	stored := g.byIDLocked(id)
	if stored == nil {
		return heddle.Network{}, false
	}
	stored.Shared = true
	return stored.Network, true
}

// replace replaces a network's record and plan.
func (g *register) replace(name string, next heddle.Network, plan heddle.Plan) {
	g.mu.Lock()
	g.changes++
	stored := g.byName[name]
	before := stored.Network
	stored.Network, stored.plan, stored.unplanned = next, plan, nil
	delete(g.byName, name)
	g.byName[next.Name] = stored
	g.reporter.networkUpdated(before, next)
	g.mu.Unlock()
	g.signalChange()
}

// signalChange says that networks have changed.
func (g *register) signalChange() {
	signal(g.changedSignal)
	signal(g.namesAgain)
}

// endpointEvent sends an event about an endpoint. It is called with the endpoint's lock held, so that its
// events are in order.
func (g *register) endpointEvent(what events.Action, e heddle.Endpoint) {
	name := e.NetworkName
	if n := g.byID(e.Network); n != nil {
		name = n.Name
	}
	g.reporter.send(events.Event{Kind: events.Endpoint, Action: what, Object: e.ID.String(), Network: name,
		Labels: e.Labels, Detail: joinedAddrs(e)})
}
