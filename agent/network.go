package agent

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"sort"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// CreateNetwork records a network and makes what its endpoints will share.
// Created again with the same settings, it is returned as it is.
func (a *Agent) CreateNetwork(want heddle.Network, dryRun bool) (made heddle.Network, commands []string, err error) {
	a.networkOps.Lock()
	defer a.networkOps.Unlock()
	mode, err := a.mode(want.Mode)
	if err != nil {
		return made, nil, err
	}
	if err := a.refreshFacts(); err != nil {
		return made, nil, err
	}
	if old, err := a.network(want.Name); err == nil {
		n, err := a.again(mode, old, want)
		if err != nil {
			return made, nil, err
		}
		if want.MTU == 0 {
			n.MTU = old.MTU // it was taken from the parent then
		}
		made, commands, err = a.createdBefore(old, n)
		return withLimits(mode, made), commands, err
	}
	n, err := a.complete(mode, want)
	if err != nil {
		return made, nil, err
	}
	if err := a.checkAgainstOthers(mode, n); err != nil {
		return made, nil, err
	}
	if err := a.checkParent(mode, n); err != nil {
		return made, nil, err
	}
	plan, err := mode.Network(a.host(), n)
	if err != nil {
		return made, nil, err
	}
	if err := a.checkPlan(n.Name, plan); err != nil {
		return made, nil, err
	}
	if dryRun {
		return withLimits(mode, n), plan.Commands(""), nil
	}
	if err := a.probe(mode, n); err != nil {
		return made, nil, err
	}
	return withLimits(mode, n), nil, a.makeNetwork(&network{Network: n, mode: mode, plan: plan})
}

// complete validates a network and fills in what was left out.
func (a *Agent) complete(mode heddle.Mode, n heddle.Network) (heddle.Network, error) {
	if err := heddle.CheckNetworkName(n.Name); err != nil {
		return n, err
	}
	id := make([]byte, 8)
	rand.Read(id)
	n.ID, n.Created, n.Allow, n.Limits = hex.EncodeToString(id), time.Now().UTC(), nil, nil
	n, err := a.address(mode, n)
	if err != nil {
		return n, err
	}
	if _, giver := mode.(heddle.NICGiver); giver {
		// a NIC keeps its MTU, and its addresses are reserved already
		return n, mode.Check(a.hostWithNICs(), n)
	}
	if err := mode.Check(a.host(), n); err != nil {
		return n, err
	}
	if len(n.Subnets) > 0 {
		n.MTU = heddle.ResolveMTU(a.host(), n)
	}
	return keepParentsAddresses(mode, a.host(), n)
}

// address checks the network's subnets and gateways, and fills in the missing.
func (a *Agent) address(mode heddle.Mode, n heddle.Network) (heddle.Network, error) {
	guest, ok := mode.(heddle.Guest)
	if !ok {
		return ipam.Check(n)
	}
	n, err := guest.Complete(a.hostWithNICs(), n)
	if err != nil {
		return n, err
	}
	return ipam.CheckOnLAN(n)
}

// keepParentsAddresses reserves, on a network within its parent's subnet, the
// addresses of the parent and its gateways.
func keepParentsAddresses(mode heddle.Mode, h heddle.HostFacts, n heddle.Network) (heddle.Network, error) {
	parent, ok := h.Link(n.Parent)
	if !ok || !mayShareSubnet(mode) {
		return n, nil
	}
	taken := slices.Clone(parent.Gateways)
	for _, p := range parent.Addrs {
		taken = append(taken, p.Addr())
	}
	_, guest := mode.(heddle.Guest)
	for _, t := range taken {
		switch {
		case slices.Contains(n.Gateways, t) && guest:
		case slices.Contains(n.Gateways, t):
			return n, heddle.Errorf(heddle.AddressTaken, "gateway", t.String()+" of network "+n.Name, "the parent "+parent.Name+" or its router has it; name another one with --gateway")
		case !slices.Contains(n.Reserved, t) && slices.ContainsFunc(n.Subnets, func(s netip.Prefix) bool { return s.Contains(t) }):
			n.Reserved = append(n.Reserved, t)
		}
	}
	return n, nil
}

func mayShareSubnet(mode heddle.Mode) bool {
	s, ok := mode.(heddle.SubnetSharer)
	return ok && s.SharesParentSubnet()
}

func (a *Agent) createdBefore(old *network, n heddle.Network) (heddle.Network, []string, error) {
	n.ID, n.Created, n.Allow = old.ID, old.Created, old.Allow
	if !sameNetwork(old.Network, n) {
		return old.Network, nil, heddle.Errorf(heddle.NetworkExists, "network", n.Name, "choose another name, or delete the network first ('heddle network show "+n.Name+"' shows its settings)")
	}
	return old.Network, nil, nil
}

func sameNetwork(a, b heddle.Network) bool {
	return a.Mode == b.Mode && slices.Equal(a.Subnets, b.Subnets) && slices.Equal(a.Gateways, b.Gateways) &&
		slices.Equal(a.Ranges, b.Ranges) && slices.Equal(a.Reserved, b.Reserved) && a.Parent == b.Parent &&
		a.MTU == b.MTU && a.Internal == b.Internal && (len(a.Options) == 0 && len(b.Options) == 0 || reflect.DeepEqual(a.Options, b.Options))
}

// checkAgainstOthers refuses subnets that another network or the host has. Some
// modes may take their addresses from the parent's own subnet, as a cloud's NIC
// with several addresses does.
func (a *Agent) checkAgainstOthers(mode heddle.Mode, n heddle.Network) error {
	links := a.host().Links
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, s := range n.Subnets {
		for _, other := range a.networks {
			for _, t := range other.Subnets {
				if s.Overlaps(t) {
					return heddle.Errorf(heddle.SubnetOverlap, "network "+n.Name, fmt.Sprintf("%s and network %s (%s)", s, other.Name, t), "choose another subnet")
				}
			}
			if other.Group() == n.Group() {
				return heddle.Errorf(heddle.NetworkExists, "network", n.Name, "its number collides with that of network "+other.Name+"; create it again")
			}
		}
		for _, l := range links {
			for _, addr := range l.Addrs {
				if s.Overlaps(addr.Masked()) && !addr.Addr().IsLinkLocalUnicast() && !(a.standsOn(mode, n, l) && within(s, addr)) {
					return heddle.Errorf(heddle.SubnetOverlap, "network "+n.Name, fmt.Sprintf("%s and the host's interface %s (%s)", s, l.Name, addr), "choose another subnet")
				}
			}
		}
	}
	return nil
}

func within(s, outer netip.Prefix) bool {
	return outer.Contains(s.Addr()) && s.Bits() >= outer.Bits()
}

// checkParent refuses a network on a parent that another network does not share.
func (a *Agent) checkParent(mode heddle.Mode, n heddle.Network) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, other := range a.networks {
		if n.Parent == "" || other.Parent != n.Parent {
			continue
		}
		for _, m := range []heddle.Mode{mode, other.mode} {
			if b, ok := m.(heddle.Beside); ok {
				if err := b.Beside(n, other.Network); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkPlan refuses a plan that wants an object in another way than a network
// that is there already.
func (a *Agent) checkPlan(name string, p heddle.Plan) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, other := range a.networks {
		if _, conflicts := other.plan.Host.Union(p.Host); len(conflicts) > 0 {
			return heddle.Errorf(heddle.PlanConflict, "network "+name, fmt.Sprintf("and network %s both want %s", other.Name, conflicts[0].Key()), "bring their options in line, or give one of them another parent")
		}
	}
	return nil
}

func (a *Agent) makeNetwork(n *network) error {
	if err := a.step("ledger network"); err != nil {
		return err
	}
	if err := a.ledger.putPlan(n.ID, n.plan); err != nil {
		return err
	}
	a.wantPlan(n.plan, true)
	_, err := a.kernel.Apply(n.plan, nil)
	if err == nil {
		// on disk last: a network that is there after a crash was made whole
		err = a.ledger.putNetwork(n.Network)
	}
	if err != nil {
		a.wantPlan(n.plan, false)
		if undo := a.kernel.Remove(n.plan, nil, a.isWanted); undo != nil {
			a.log.Error("undo of a network failed", "network", n.Name, "error", undo)
		}
		a.ledger.dropPlan(n.ID)
		return err
	}
	n.equip()
	a.mu.Lock()
	a.networks[n.Name] = n
	a.mu.Unlock()
	if err := a.admit(); err != nil { // the network is there; the patrol tries again
		a.log.Error("other firewalls not opened for our traffic", "error", err)
	}
	return nil
}

func (n *network) equip() {
	n.macs, n.slots, n.life = map[heddle.MAC]heddle.EndpointID{}, &slots{}, &life{}
	if len(n.Subnets) > 0 {
		n.pool = ipam.NewPool(n.Network)
	}
}

func (a *Agent) wantPlan(p heddle.Plan, want bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if want {
		a.wanted.add(p.Host)
	} else {
		a.wanted.remove(p.Host)
	}
}

// DeleteNetwork removes a network without endpoints.
func (a *Agent) DeleteNetwork(name string) error {
	a.networkOps.Lock()
	defer a.networkOps.Unlock()
	n, err := a.network(name)
	if err != nil {
		return err
	}
	n.life.Lock()
	defer n.life.Unlock()
	if used := a.endpointsOn(n.ID); len(used) > 0 {
		return heddle.Errorf(heddle.NetworkInUse, "network", fmt.Sprintf("%s with %d endpoints, such as %s", name, len(used), used[0].ID), "detach them first")
	}
	for _, other := range a.Networks() {
		if slices.Contains(other.Allow, n.ID) {
			if err := a.join(other.Name, n.ID, false); err != nil {
				return err
			}
		}
	}
	// from the disk first: what is left after a crash is pruned at the start
	if err := a.step("ledger network delete"); err != nil {
		return err
	}
	if err := a.ledger.dropNetwork(n.Network); err != nil {
		return err
	}
	a.mu.Lock()
	stored := a.networks[name]
	delete(a.networks, name)
	a.wanted.remove(n.plan.Host)
	last := len(a.networks) == 0
	a.mu.Unlock()
	if err := a.kernel.Remove(n.plan, nil, a.isWanted); err != nil {
		// there again, as a whole: the patrol puts back what is gone already
		a.mu.Lock()
		a.networks[name] = stored
		a.wanted.add(n.plan.Host)
		a.mu.Unlock()
		return errors.Join(err, a.ledger.putNetwork(n.Network))
	}
	n.life.gone = true
	if last {
		if err := a.coexist.Withdraw(); err != nil {
			a.log.Error("rules in other firewalls not withdrawn", "error", err)
		}
	}
	return a.ledger.dropPlan(n.ID)
}

func (a *Agent) endpointsOn(id string) []heddle.Endpoint {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var all []heddle.Endpoint
	for _, r := range a.endpoints {
		if id == "" || r.Endpoint.Network == id {
			all = append(all, r.shown())
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ID.String() < all[j].ID.String() })
	return all
}

// Networks lists all networks, by name.
func (a *Agent) Networks() []heddle.Network {
	a.mu.RLock()
	defer a.mu.RUnlock()
	all := make([]heddle.Network, 0, len(a.networks))
	for _, n := range a.networks {
		all = append(all, withLimits(n.mode, n.Network))
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// Network returns one network.
func (a *Agent) Network(name string) (heddle.Network, error) {
	n, err := a.network(name)
	if err != nil {
		return heddle.Network{}, err
	}
	return withLimits(n.mode, n.Network), nil
}

// withLimits adds what the mode cannot do or prevent; it is not recorded.
func withLimits(mode heddle.Mode, n heddle.Network) heddle.Network {
	if l, ok := mode.(heddle.Limiter); ok {
		n.Limits = l.Limits(n)
	}
	return n
}

// Endpoints lists all endpoints, by id.
func (a *Agent) Endpoints() []heddle.Endpoint { return a.endpointsOn("") }

// Endpoint returns one endpoint.
func (a *Agent) Endpoint(id heddle.EndpointID) (heddle.Endpoint, error) {
	r, ok := a.lookup(id)
	if !ok {
		return heddle.Endpoint{}, noEndpoint(id)
	}
	return r.shown(), nil
}

func noEndpoint(id heddle.EndpointID) error {
	return heddle.Errorf(heddle.NoEndpoint, "endpoint", id.String(), "'heddle endpoint list' shows those there are")
}
