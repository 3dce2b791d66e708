package join

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// readMembers adopts the members of the store. It reads them anew, since a watched value
// may be older than what this host knows.
func (n *Node) readMembers(ctx context.Context) error {
	n.roleMu.Lock() // the host cannot become a member after the list was read
	defer n.roleMu.Unlock()
	e, err := read(ctx, n.store, MembersKey)
	if err != nil || e.Value == nil {
		return err
	}
	var all []member
	if err := json.Unmarshal(e.Value, &all); err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(m member) bool { return !m.Learner }) {
		return nil
	}
	mine, err := n.adopt(all)
	if !mine {
		err = errors.Join(err, n.stopKeepingLocked())
	}
	return err
}

// adopt records the members of the store, and reports whether this host is one.
func (n *Node) adopt(all []member) (mine bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := reachable(all, n.opt.Underlay); len(now) > 0 && !slices.Equal(now, n.endpoints) {
		err = n.dir.write(fileEndpoints, []byte(strings.Join(now, "\n")+"\n"))
		n.endpoints = now
		n.store.SetEndpoints(now)
		if n.admin != nil {
			n.admin.etcd.SetEndpoints(now)
		}
	}
	if text, bad := json.Marshal(all); bad == nil && !reflect.DeepEqual(all, n.members) {
		err = errors.Join(err, n.dir.write(fileMembers, text))
		n.members = all
	}
	own := peerURL(n.record.Underlay)
	return slices.ContainsFunc(all, func(m member) bool { return slices.Contains(m.Peers, own) }), err
}

// stopKeepingLocked makes a host stop keeping the store. The lock is roleMu.
func (n *Node) stopKeepingLocked() error {
	n.mu.Lock()
	if !n.record.Member {
		n.mu.Unlock()
		return nil
	}
	n.log.Info("this host no longer keeps the store")
	r := n.record
	r.Member, r.Founder, r.Initial = false, false, nil
	unsaved := n.saveLocked(r)
	door, server, admin := n.door, n.server, n.admin
	n.door, n.server, n.admin, n.keys = nil, nil, nil, nil
	n.mu.Unlock() // a server may take its time to close
	err := errors.Join(unsaved, door.close())
	if unsaved == nil { // otherwise it is tried again; a member without the files would not start
		err = errors.Join(err, n.dropKeys())
	}
	if server != nil {
		server.Close() // the other members told it to stop, which it reports as an error
	}
	if admin != nil {
		err = errors.Join(err, admin.store.Close())
	}
	if unsaved == nil {
		err = errors.Join(err, n.dir.remove(dirData))
	}
	return err
}

// dropKeys removes what only a host that keeps the store may have.
func (n *Node) dropKeys() error {
	return n.dir.remove(fileAuthorityKey, fileOperator, fileServer, fileServerKey)
}

// checkAccepted finds out whether the store still accepts the host's certificate. The
// servers answer a host that was removed, but refuse all its requests. If such a host kept
// the store, it gives up its member's keys and data. A certificate that is refused because
// of its dates is a different case; the store's health reports it.
func (n *Node) checkAccepted(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, balanceTimeout)
	defer cancel()
	err := n.readMembers(ctx)
	switch {
	case store.Denied(err):
		removed := error(heddle.Errorf(heddle.HostRemoved, "use the store as host", n.me.Name, "the store does not know its certificate any more",
			"detach its endpoints, move "+string(n.dir)+" away, and join again with a new token"))
		if n.refused.Swap(&removed) == nil {
			n.log.Error("refused by the store", "error", removed)
		}
		n.roleMu.Lock()
		defer n.roleMu.Unlock()
		if err := n.stopKeepingLocked(); err != nil {
			n.log.Error("what this host had as a member of the store is not all gone", "error", err)
		}
	case err == nil:
		n.refused.Store(nil)
	}
}
