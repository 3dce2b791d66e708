package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// deletionWait is how long a deletion waits for the hosts to yield their blocks.
const deletionWait = 6 * time.Second

// DeleteNetwork deletes the network with the ID, whatever its name is now, when all hosts
// have left it. Nobody claims new blocks of a network that is marked as leaving, and
// without blocks there are no new pins.
func (c *Cluster) DeleteNetwork(ctx context.Context, id string) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	if err := c.setDeleting(ctx, id, true); err != nil {
		return err
	}
	for {
		n, revision, err := c.networkByID(id)
		if err != nil {
			return nil // the network is gone
		}
		name := n.Name
		waiting, stop := context.WithTimeout(ctx, deletionWait)
		left := c.await(waiting, func() bool { return len(c.usersOfLocked(n.ID)) == 0 })
		stop()
		if left != nil {
			c.mu.Lock()
			users := c.usersOfLocked(n.ID)
			c.mu.Unlock()
			err := heddle.Errorf(heddle.NetworkInUse, "delete network", name, "it is in use on "+strings.Join(users, ", "),
				"detach its endpoints there; remove a host that never returns with 'heddle host remove'")
			undoing, undone := context.WithTimeout(context.WithoutCancel(ctx), defaultTimeout)
			kept := c.setDeleting(undoing, id, false)
			undone()
			if kept != nil {
				return heddle.Errorf(heddle.NetworkInUse, "delete network", name,
					"it is in use on "+strings.Join(users, ", ")+", and is still marked as being deleted: "+heddle.CauseOf(kept),
					heddle.FirstRemedy(kept, "delete it again when the store is back"))
			}
			return err
		}
		if err := c.removeFromAllow(ctx, id); err != nil {
			return err
		}
		c.mu.Lock()
		below := store.Condition{Key: blockKeys(n.ID), Revision: c.record.lastRevision(blockKeys(n.ID)), Prefix: true}
		change := store.Change{Require: []store.Condition{{Key: networkKey(name), Revision: revision}, below}, Delete: append(c.unreadableKeysLocked(below.Key), networkKey(name))}
		free := len(c.usersOfLocked(n.ID)) == 0
		c.mu.Unlock()
		if !free {
			continue
		}
		done, _, err := c.commit(ctx, change)
		if done || err != nil {
			return err
		}
	}
}

// removeFromAllow removes a network that is being deleted from the permissions of the other
// networks. It does so while the network still exists, so that a deletion that was
// interrupted can be finished with them.
func (c *Cluster) removeFromAllow(ctx context.Context, id string) error {
	c.mu.Lock()
	var allowing []string
	for other, i := range c.record.networks {
		if n := i.value.(*heddle.Network); slices.Contains(n.Allow, id) {
			allowing = append(allowing, other)
		}
	}
	c.mu.Unlock()
	for _, other := range allowing {
		err := c.ChangeNetwork(ctx, other, func(n *heddle.Network) error {
			n.Allow = slices.DeleteFunc(n.Allow, func(allowed string) bool { return allowed == id })
			return nil
		})
		if err != nil && !errors.Is(err, heddle.NoNetwork.Sentinel()) {
			return err
		}
	}
	return nil
}

// DropNetwork implements API.
func (c *Cluster) DropNetwork(ctx context.Context, name string) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	for {
		if _, err := c.fenced(ctx); err != nil {
			return err
		}
		c.mu.Lock()
		i := c.record.items[networkKey(name)]
		c.mu.Unlock()
		if i.key == "" || i.value != nil {
			return nil // deleted, or accepted by now
		}
		if done, _, err := c.commit(ctx, store.Change{Require: []store.Condition{{Key: i.key, Revision: i.revision}}, Delete: []string{i.key}}); done || err != nil {
			return err
		}
	}
}

func (c *Cluster) setDeleting(ctx context.Context, id string, leaving bool) error {
	return c.ChangeNetwork(ctx, id, func(n *heddle.Network) error {
		n.Deleting = leaving
		return nil
	})
}

// unreadableKeysLocked lists the unreadable keys below a prefix, for a change to delete: they
// belong to nobody.
func (c *Cluster) unreadableKeysLocked(prefix string) (all []string) {
	for key, i := range c.record.items {
		if strings.HasPrefix(key, prefix) && (i.value == nil || i.refused != "") && len(all) < maxBlocks {
			all = append(all, key)
		}
	}
	return all
}

// usersOfLocked names the hosts that have blocks or pins of a network.
func (c *Cluster) usersOfLocked(network string) []string {
	var all []string
	for _, i := range c.record.items {
		if i.addr.network != network {
			continue
		}
		id := ""
		switch v := i.value.(type) {
		case *blockRecord:
			if id = v.Host; id == "" {
				continue
			}
		case *pinRecord:
			id = v.Host
		default:
			continue
		}
		name := c.record.hostName(id)
		if c.record.revisionOf(aliveKey(name)) == 0 {
			name += " (not connected)"
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
