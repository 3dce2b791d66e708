package cluster

import (
	"context"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// RenameNetwork implements API. The name is the key: one transaction deletes the old key
// and puts the new one, so that every host sees exactly one of them.
func (c *Cluster) RenameNetwork(ctx context.Context, id, name string, change func(*heddle.Network)) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	for {
		if _, err := c.fenced(ctx); err != nil {
			return err
		}
		old, err := c.nameOf(id)
		if err != nil {
			return err
		}
		if old == name {
			return c.ChangeNetwork(ctx, id, func(n *heddle.Network) error { change(n); return nil })
		}
		n, revision, err := c.networkByName(old)
		switch {
		case err != nil:
			return err
		case n.Deleting:
			return heddle.Errorf(heddle.NetworkLeaving, "rename network", old+" to "+name,
				"network "+old+" is being deleted", "create another network")
		}
		if _, _, err := c.networkByName(name); err == nil {
			return heddle.Errorf(heddle.NetworkExists, "rename network", old+" to "+name,
				"the cluster has a network of that name", "choose another name, or delete the other network first")
		}
		n.Name = name
		change(&n)
		done, _, err := c.commit(ctx, store.Change{
			Require: []store.Condition{{Key: networkKey(old), Revision: revision}, {Key: networkKey(name)}},
			Put:     []store.Entry{entry(networkKey(name), n)},
			Delete:  []string{networkKey(old)},
		})
		if done || err != nil {
			return err
		}
	}
}

// nameOf is the name of the network with the ID.
func (c *Cluster) nameOf(id string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, n := c.record.network(id)
	if n == nil {
		return "", heddle.Errorf(heddle.NoNetwork, "rename network with ID", id, "the cluster has no such network",
			"name another network: 'heddle network list' shows those there are")
	}
	return n.Name, nil
}
