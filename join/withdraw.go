package join

import (
	"context"
	"encoding/json"
	"time"

	"github.com/heddle-network/heddle/durable"
	"github.com/heddle-network/heddle/store"
)

// withdrawal is the record that removes the authority's key from the hosts' disks. Only an
// operator may write it. While it exists, every keeper deletes its key.
type withdrawal struct {
	At time.Time `json:"at"`
	// By is the host that the operator called.
	By string `json:"by"`
	// revision is that of the record.
	revision int64
}

// withdrawnNow reads the record; nil: the key was not withdrawn.
func withdrawnNow(ctx context.Context, s store.Store) (*withdrawal, error) {
	e, err := read(ctx, s, WithdrawnKey)
	if err != nil || e.Value == nil {
		return nil, err
	}
	w := &withdrawal{revision: e.Revision}
	return w, json.Unmarshal(e.Value, w)
}

// withdrawalEvery is the time between two reads of the record, in case an attempt failed, or
// another host gave this one the key meanwhile.
const withdrawalEvery = 20 * time.Second

// followWithdrawal acts on the record until ctx ends.
func (n *Node) followWithdrawal(ctx context.Context) {
	events := n.store.Watch(ctx, WithdrawnKey)
	for {
		select {
		case _, open := <-events:
			if !open {
				return
			}
		case <-time.After(withdrawalEvery):
		}
		limited, cancel := context.WithTimeout(ctx, balanceTimeout)
		err := n.applyWithdrawal(limited, n.store)
		cancel()
		if err != nil && ctx.Err() == nil && !store.Away(err) {
			n.log.Error("it is not known whether this host may have the authority's key", "error", err)
		}
	}
}

// applyWithdrawal deletes the authority's key, if it was withdrawn. It reads the record
// anew, since a watched value may be older than the key's return.
func (n *Node) applyWithdrawal(ctx context.Context, s store.Store) error {
	n.roleMu.Lock() // nobody can write the key between the read and the deletion
	defer n.roleMu.Unlock()
	w, err := withdrawnNow(ctx, s)
	if err != nil {
		return err
	}
	if w == nil {
		n.withdrawn.Store(&withdrawal{})
		return nil
	}
	n.withdrawn.Store(w)
	return n.dropAuthorityKeyLocked()
}

// dropAuthorityKeyLocked deletes the authority's key. It sets the mark in the record first, so
// that the next start finishes an interrupted deletion. The lock is roleMu.
func (n *Node) dropAuthorityKeyLocked() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.keys == nil || n.keys.authority.key == nil && !n.dir.has(fileAuthorityKey) {
		return nil
	}
	r := n.record
	r.KeyAway = true
	if err := n.saveLocked(r); err != nil {
		return err
	}
	n.keys.authority.key = nil
	if err := n.dir.remove(fileAuthorityKey); err != nil {
		return err
	}
	n.log.Info("the authority's key is deleted here: an operator withdrew it")
	return durable.Folder(string(n.dir))
}

// restoreAuthorityKey writes the key that an operator returns, unless it is withdrawn. It
// removes the mark last; with the mark, the next start deletes the key again.
func (n *Node) restoreAuthorityKey(ctx context.Context, s store.Store, text []byte) error {
	key, err := authorityKey(n.ca, text)
	if err != nil {
		return err
	}
	n.roleMu.Lock()
	defer n.roleMu.Unlock()
	w, err := withdrawnNow(ctx, s)
	if err != nil {
		return err
	}
	if w != nil {
		return keyAwayError()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.keys == nil {
		return noCredential(n.me.Name)
	}
	if n.keys.authority.key != nil {
		return nil
	}
	if err := n.keepAuthorityKey(key); err != nil {
		return err
	}
	r := n.record
	r.KeyAway = false
	if err := n.saveLocked(r); err != nil {
		return err
	}
	n.keys.authority.key, n.keys.lent = key, loan{}
	n.log.Info("the authority's key is on this host's disk again")
	return nil
}
