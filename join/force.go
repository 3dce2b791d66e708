package join

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// checkForce reports whether this host may make its member of the store the only one, if the
// options ask for it. The host must keep the store, no other member may answer, and it
// must not have done this at its last start. The dropped members would not know.
func (n *Node) checkForce(ctx context.Context) error {
	if !n.opt.ForceNew {
		return nil
	}
	if !n.record.Member || !n.dir.has(dirData) {
		return heddle.Errorf(heddle.BadArgument, "use --force-new-store on host", n.record.Name,
			"the host does not keep the store", "give it to a host that does: one with operator.pem in "+string(n.dir))
	}
	if n.record.Forced {
		return heddle.Errorf(heddle.BadArgument, "use --force-new-store on host", n.record.Name,
			"it was given at the last start, and is done", "leave it out")
	}
	if up := n.answeringMembers(ctx); len(up) > 0 {
		return heddle.Errorf(heddle.BadArgument, "use --force-new-store on host", n.record.Name, "other members of the store answer: "+strings.Join(up, ", "),
			"wait: with most of its members the store comes back by itself; if they are lost, stop the agents of those that are left first: they are ordinary hosts when they start again")
	}
	n.endpoints = urls(n.record.Underlay[:1], ClientPort)
	return nil
}

// answeringMembers lists the servers of other members that accept a connection.
func (n *Node) answeringMembers(ctx context.Context) (up []string) {
	all := slices.Clone(n.endpoints)
	for _, m := range n.members {
		all = append(all, m.Clients...)
	}
	slices.Sort(all)
	own := urls(n.record.Underlay, ClientPort)
	for _, url := range slices.Compact(all) {
		if slices.Contains(own, url) {
			continue
		}
		address := strings.TrimPrefix(url, "https://")
		conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
			up = append(up, address)
		}
	}
	return up
}

// finishForce waits, if ForceNew is set, until the store serves with this host's member alone,
// and records that: the next start drops no members.
func (n *Node) finishForce(ctx context.Context) error {
	if n.record.Forced == n.opt.ForceNew {
		return nil
	}
	if n.opt.ForceNew {
		ctx, cancel := context.WithTimeoutCause(ctx, foundingTime, errors.New("the store did not come up in time"))
		defer cancel()
		if err := n.awaitServer(ctx); err != nil {
			return err
		}
		if err := n.dropOtherKeepers(ctx); err != nil {
			return err
		}
		n.log.Warn("the store's other members are dropped: this host keeps it alone until an operator names others")
	}
	r := n.record
	r.Forced = n.opt.ForceNew
	return n.saveLocked(r)
}

// dropOtherKeepers records that this host is the only keeper.
func (n *Node) dropOtherKeepers(ctx context.Context) error {
	r, err := n.roster(ctx)
	if err != nil {
		return err
	}
	all, _, err := r.admissions(ctx)
	if err != nil {
		return err
	}
	c := store.Change{Put: []store.Entry{keeperEntry(n.record.Name, n.opt.Now())}}
	for _, h := range all {
		if h.keeper && h.name != n.record.Name {
			c.Delete = append(c.Delete, keeperKey(h.name))
		}
	}
	_, _, err = r.store.Commit(ctx, c)
	return err
}

// awaitServer waits until the store on this host serves.
func (n *Node) awaitServer(ctx context.Context) error {
	select {
	case <-n.server.Ready():
		return nil
	case <-n.server.Stopped():
		return n.server.Err()
	case <-ctx.Done():
		return heddle.Wrap(heddle.StoreDown, "start the store on host", n.record.Name, context.Cause(ctx),
			"look for the store's messages in the log")
	}
}
