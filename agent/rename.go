package agent

import (
	"context"

	"github.com/heddle-network/heddle"
)

// NetworkByID returns the network with the ID.
func (a *Agent) NetworkByID(id string) (heddle.Network, error) {
	n := a.networkByID(id)
	if n == nil {
		return heddle.Network{}, noNetwork(id)
	}
	return withLimits(n.mode, n.Network), nil
}

// NetworksChanged receives after networks came, changed or went; it has room for
// one, so one reader sees each change.
func (a *Agent) NetworksChanged() <-chan struct{} { return a.news }

// NameNetwork gives a network the name that Docker has for it, with what else
// Docker knows of it, on all hosts that have the network. Its endpoints stay.
func (a *Agent) NameNetwork(id, name string, d *heddle.DockerNetwork) (heddle.Network, error) {
	if err := heddle.CheckNetworkName(name); err != nil {
		return heddle.Network{}, err
	}
	a.networkOps.Lock()
	defer a.networkOps.Unlock()
	n := a.networkByID(id)
	if n == nil {
		return heddle.Network{}, noNetwork(id)
	}
	if err := a.nameLocked(n, name, d); err != nil {
		return n.Network, err
	}
	return a.NetworkByID(id)
}

// nameLocked is NameNetwork. The caller holds networkOps.
func (a *Agent) nameLocked(n *network, name string, d *heddle.DockerNetwork) error {
	if !n.Shared || a.opt.Cluster == nil {
		next := n.Network
		next.Name, next.Docker = name, d
		return a.rename(n, next)
	}
	if other, err := a.network(name); err == nil && other.ID != n.ID {
		return taken(name)
	}
	if err := a.storeAway("name network", name); err != nil {
		return err
	}
	ctx, cancel := waiting(context.Background())
	defer cancel()
	err := a.unlocked(func() error {
		return a.opt.Cluster.RenameNetwork(ctx, n.ID, name, func(next *heddle.Network) { next.Docker = d })
	})
	if err == nil {
		a.adoptLocked(ctx)
	}
	return err
}

// rename puts a network's record of another name in the place of the one that is
// there. The caller holds networkOps.
func (a *Agent) rename(n *network, next heddle.Network) error {
	a.mu.RLock()
	other := a.networks[next.Name]
	a.mu.RUnlock()
	if other != nil && other.ID != n.ID {
		return taken(next.Name)
	}
	plan, err := n.mode.Network(a.host(), next)
	if err != nil {
		return err
	}
	return a.replan(n, next, plan)
}

func taken(name string) error {
	return heddle.Errorf(heddle.NetworkExists, "network", name, "choose another name, or delete the old one first")
}

// tell says that networks have changed.
func (a *Agent) tell() {
	select {
	case a.news <- struct{}{}:
	default:
	}
}
