package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// maxBlocks is how many blocks a new network may have: they and the network go into one
// change.
const maxBlocks = 120

// CreateNetwork records a network. A condition on all networks at once ensures that no
// other one has its name or its addresses.
func (c *Cluster) CreateNetwork(ctx context.Context, n heddle.Network, blocks []netip.Prefix) (heddle.Network, error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	n = asRecord(n)
	if err := c.checkNew(n); err != nil {
		return n, err
	}
	if len(blocks) > maxBlocks {
		return n, heddle.Errorf(heddle.BadArgument, "create network", n.Name,
			fmt.Sprintf("its addresses in use are in %d blocks, and a network of the cluster can begin with at most %d", len(blocks), maxBlocks), "detach endpoints first")
	}
	if len(blocks) > 0 { // the blocks go on the disk first, which is useless if the host may not create the network
		if err := c.checkPermission(ctx, putNetwork(n)); err != nil {
			return n, err
		}
	}
	if err := c.recordNewBlocks(n, blocks); err != nil {
		return n, err
	}
	id := n.ID // n becomes the existing network
	err := c.create(ctx, &n, blocks)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.creating, id)
	if _, there := c.record.network(id); there == nil && c.fence != 0 {
		err = errors.Join(err, c.forgetBlocksLocked(id))
	}
	c.wake() // if the outcome is unknown, reconcile settles the blocks later
	return n, err
}

// CheckNetwork returns why CreateNetwork would refuse a network, as far as this host
// knows.
func (c *Cluster) CheckNetwork(ctx context.Context, n heddle.Network) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	n = asRecord(n)
	if err := c.checkNew(n); err != nil {
		return err
	}
	return c.checkPermission(ctx, putNetwork(n))
}

// HasNetwork is API.HasNetwork.
func (c *Cluster) HasNetwork(ctx context.Context, name string) (bool, error) {
	found, err := c.o.Store.Read(ctx, networkKey(name)) // the result also has networks whose names begin with this name
	return slices.ContainsFunc(found.Entries, func(e store.Entry) bool { return e.Key == networkKey(name) }), err
}

// asRecord returns a new network in the form of its record.
func asRecord(n heddle.Network) heddle.Network {
	n.Shared, n.Deleting, n.Limits = true, false, nil
	return n
}

// putNetwork is the change that writes the network's record.
func putNetwork(n heddle.Network) store.Change {
	return store.Change{Put: []store.Entry{entry(networkKey(n.Name), n)}}
}

// checkNew returns why no host would accept the network.
func (c *Cluster) checkNew(n heddle.Network) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.record.revision == 0 {
		return nil // looked at again when it is in the store
	}
	if s, out := subnetOutside(c.record.ranges(), n); out {
		return heddle.Errorf(heddle.OutsideRanges, "create network", n.Name, "its subnet "+s.String()+" lies in none of the cluster's ranges ("+joinPrefixes(c.record.ranges())+")",
			"choose a subnet in the ranges, or have an operator change them with 'heddle host ranges'")
	}
	if why := checkNetwork(n.Name, &n, c.o.Fits); why != "" {
		return heddle.Errorf(heddle.BadArgument, "create network", n.Name, "no host would accept it: "+why,
			"change what the message names")
	}
	if len(c.record.networks) >= MaxNetworks {
		return heddle.Errorf(heddle.TooMuch, "create network", n.Name,
			fmt.Sprintf("the cluster has %d networks, and can have no more", MaxNetworks), "delete one first")
	}
	for name, h := range c.record.hosts {
		self := value[hostRecord](&c.record, selfKey(h))
		for _, s := range n.Subnets {
			if self != nil && slices.ContainsFunc(self.Underlay, s.Contains) {
				return heddle.Errorf(heddle.SubnetOverlap, "create network", n.Name,
					"host "+c.record.hostName(name)+" has its underlay address in the subnet "+s.String(), "choose another subnet")
			}
		}
	}
	return nil
}

// forgetBlocksLocked drops the blocks of a network that was not created.
func (c *Cluster) forgetBlocksLocked(network string) error {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(c.memory.Held)), func(b blockID) bool { return b.network == network }) {
		return nil
	}
	return c.updateMemoryLocked(func(m *memory) {
		maps.DeleteFunc(m.Held, func(b blockID, _ int64) bool { return b.network == network })
	})
}

// recordNewBlocks records the blocks on the disk, before they are in the store.
func (c *Cluster) recordNewBlocks(n heddle.Network, blocks []netip.Prefix) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.creating[n.ID] {
		return heddle.Errorf(heddle.NetworkExists, "create network", n.Name, "it is being created just now",
			"wait until the other call has ended")
	}
	c.creating[n.ID] = true
	if len(blocks) == 0 {
		return nil
	}
	err := c.updateMemoryLocked(func(m *memory) {
		for _, b := range blocks {
			m.Held[blockID{n.ID, b}] = 0
		}
	})
	if err != nil {
		delete(c.creating, n.ID)
	}
	return err
}

func (c *Cluster) create(ctx context.Context, n *heddle.Network, blocks []netip.Prefix) error {
	for {
		if _, err := c.fenced(ctx); err != nil {
			return err
		}
		c.mu.Lock()
		there, err := c.findConflict(*n)
		revision := c.record.revision
		c.mu.Unlock()
		if there != nil && there.ID == n.ID && !there.Deleting {
			return nil // made in an earlier try with an unknown outcome
		}
		if there != nil {
			*n = *there
		}
		if err != nil {
			return err
		}
		change := store.Change{
			Require: []store.Condition{{Key: networksKey, Revision: revision, Prefix: true}},
			Put:     []store.Entry{entry(networkKey(n.Name), n)},
		}
		for _, b := range blocks {
			change.Require = append(change.Require, store.Condition{Key: blockKey(n.ID, b)})
			change.Put = append(change.Put, entry(blockKey(n.ID, b), blockRecord{c.o.Self.ID}))
		}
		if _, _, err := c.commit(ctx, change); err != nil {
			return err
		}
	}
}

// findConflict finds what prevents a new network; this may be the network with its name.
func (c *Cluster) findConflict(n heddle.Network) (there *heddle.Network, err error) {
	there = value[heddle.Network](&c.record, networkKey(n.Name))
	switch {
	case there != nil && there.Deleting:
		return there, heddle.Errorf(heddle.NetworkLeaving, "create network", n.Name, "the old network of that name is being deleted",
			"wait until it is gone; 'heddle network delete "+n.Name+"' finishes a deletion that was cut off")
	case there != nil:
		return there, heddle.Errorf(heddle.NetworkExists, "create network", n.Name,
			"the cluster has a network of that name", "choose another name, or delete the old network first")
	}
	for _, i := range c.record.items {
		other, is := i.value.(*heddle.Network)
		if !is {
			continue
		}
		for _, s := range n.Subnets {
			if j := slices.IndexFunc(other.Subnets, s.Overlaps); j >= 0 {
				return nil, heddle.Errorf(heddle.SubnetOverlap, "create network", n.Name,
					"its subnet "+s.String()+" overlaps "+other.Subnets[j].String()+" of network "+other.Name+" of the cluster", "choose another subnet")
			}
		}
	}
	return nil, nil
}

// ChangeNetwork implements API.
func (c *Cluster) ChangeNetwork(ctx context.Context, id string, change func(*heddle.Network) error) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	for {
		if _, err := c.fenced(ctx); err != nil {
			return err
		}
		n, revision, err := c.networkByID(id)
		if err != nil {
			return err
		}
		name := n.Name
		before, _ := json.Marshal(n)
		if err := change(&n); err != nil {
			return err
		}
		next := entry(networkKey(name), n)
		if string(before) == string(next.Value) {
			return nil // also after a try with an unknown outcome
		}
		done, _, err := c.commit(ctx, store.Change{Require: []store.Condition{{Key: next.Key, Revision: revision}}, Put: []store.Entry{next}})
		if done || err != nil {
			return err
		}
	}
}

// networkByName returns a copy of a network's record.
func (c *Cluster) networkByName(name string) (n heddle.Network, revision int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.copyNetworkLocked(value[heddle.Network](&c.record, networkKey(name)), "find network", name)
}

// networkByID is like networkByName, for the network with an ID.
func (c *Cluster) networkByID(id string) (n heddle.Network, revision int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, found := c.record.network(id)
	return c.copyNetworkLocked(found, "find network with ID", id)
}

// copyNetworkLocked copies the record that was found, or returns an error of op and object if none
// was.
func (c *Cluster) copyNetworkLocked(found *heddle.Network, op, object string) (n heddle.Network, revision int64, err error) {
	if found == nil {
		return n, 0, heddle.Errorf(heddle.NoNetwork, op, object, "the cluster has no such network",
			"name another network: 'heddle network list' shows those there are")
	}
	text, err := json.Marshal(found)
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	return n, c.record.revisionOf(networkKey(n.Name)), err
}
