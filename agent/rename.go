package agent

import (
	"context"

	"github.com/heddle-network/heddle"
)

// NetworkByID returns the network with the ID.
func (a *Agent) NetworkByID(id string) (heddle.Network, error) {
	n := a.networks.byID(id)
	if n == nil {
		return heddle.Network{}, noNetwork(id)
	}
	return withLimits(n.mode, n.Network), nil
}

// NetworksChanged receives a value after networks came, changed or went. Its capacity is one, so a
// single reader misses no change.
func (a *Agent) NetworksChanged() <-chan struct{} { return a.networks.changedSignal }

// NameNetwork gives a network the name and the other data that Docker has for it, on all
// hosts that have the network. Its endpoints stay.
func (a *Agent) NameNetwork(id, name string, d *heddle.DockerNetwork) (heddle.Network, error) {
	if err := heddle.CheckNetworkName(name); err != nil {
		return heddle.Network{}, err
	}
	n := a.networks.byID(id)
	if n == nil {
		return heddle.Network{}, noNetwork(id)
	}
	if err := a.changeName(n, name, d); err != nil {
		return n.Network, err
	}
	return a.NetworkByID(id)
}

func (a *Agent) changeName(n *network, changeName string, d *heddle.DockerNetwork) error {
	t := a.tasks.begin(work{what: "rename", network: n.Name}, "the kernel")
	defer t.end()
	if !n.Shared || a.opt.Cluster == nil {
		defer a.networkLocks.Lock(n.ID)()
		if n = a.networks.byID(n.ID); n == nil {
			return noNetwork(changeName)
		}
		next := n.Network
		next.Name, next.Docker = changeName, d
		next, err := heddle.Bounded(next)
		if err != nil {
			return err
		}
		return a.rename(n, next)
	}
	if other, err := a.networks.find(changeName); err == nil && other.ID != n.ID {
		return nameTaken(changeName)
	}
	if err := checkStoreUp(a.opt.Cluster, "use network name", changeName); err != nil {
		return err
	}
	ctx, cancel := withStoreTimeout(context.Background())
	defer cancel()
	t.waitFor("the store")
	err := a.opt.Cluster.RenameNetwork(ctx, n.ID, changeName, func(next *heddle.Network) { next.Docker = d })
	if err == nil {
		t.waitFor("the kernel")
		err = a.followNow(ctx, n.ID)
	}
	return err
}

// rename replaces a network's record by one that may have another name.
func (a *Agent) rename(n *network, next heddle.Network) error {
	a.networkLocks.mustHold(n.ID)
	plan, err := n.mode.Network(a.host.now(), next)
	if err != nil {
		return err
	}
	if next.Name == n.Name {
		return a.replan(n, next, plan)
	}
	named := *n
	named.Network, named.plan = next, plan
	if _, err := a.networks.claim(&named, func() {}); err != nil {
		return err
	}
	err = a.replan(n, next, plan)
	a.networks.endRenaming(n.ID)
	if err == nil {
		signal(a.viewAgain) // a network of the cluster may need the old name
		a.policiesSoon()
	}
	return err
}

func nameTaken(name string) error {
	return heddle.Errorf(heddle.NetworkExists, "use network name", name, "another network has the name",
		"choose another name, or delete the other network first")
}
