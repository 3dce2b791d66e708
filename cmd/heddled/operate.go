package main

import (
	"context"
	"errors"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/join"
	"github.com/heddle-network/heddle/store"
)

// operationTime is how long an operator's call may take, with the wait for another host's
// vote.
const operationTime = 90 * time.Second

// externalStore is the cause of refusals of what only an embedded store can do.
const externalStore = "this takes an embedded store, and this host uses an external etcd"

// Token implements api.Hosts.
func (h hosts) Token(ctx context.Context, q client.TokenRequest) (client.Token, error) {
	if h.node == nil {
		return client.Token{}, heddle.Errorf(heddle.NoStore, "make token", "", "tokens are for an embedded store, and this host uses an external etcd",
			"start the other hosts with this host's --store, and certificates of the etcd's own authority")
	}
	t := client.Token{Uses: q.Uses, May: q.May, Join: h.node.Doors()}
	err := h.operate(ctx, q.Credential, q.DryRun, func(ctx context.Context, o *join.Operator) (err error) {
		t.Token, t.Name, t.Expires, err = o.Token(ctx, time.Duration(q.Seconds)*time.Second, q.Uses, q.May...)
		return err
	})
	if lines, err := rehearsed(err); q.DryRun {
		return client.Token{Commands: lines}, err
	}
	return t, err
}

// rehearsed returns what an operation would have written, if it was rehearsed.
func rehearsed(err error) ([]string, error) {
	var r *store.Rehearsed
	if errors.As(err, &r) {
		return r.Lines(), nil
	}
	return nil, err
}

// Keepers implements api.Hosts.
func (h hosts) Keepers(ctx context.Context, q client.KeepersRequest) ([]string, error) {
	if h.node == nil {
		return nil, heddle.Errorf(heddle.NoStore, "change keepers", "", externalStore, "manage the members of the etcd with etcdctl")
	}
	if (len(q.Promote) == 0) == (len(q.Demote) == 0) {
		return nil, heddle.Errorf(heddle.BadArgument, "change keepers", "",
			"the request names hosts to promote and hosts to demote, or none", "name hosts for one of the two")
	}
	return rehearsed(h.operate(ctx, q.Credential, q.DryRun, func(ctx context.Context, o *join.Operator) error {
		if len(q.Promote) > 0 {
			return o.Promote(ctx, q.Promote)
		}
		return o.Demote(ctx, q.Demote)
	}))
}

// Rights implements api.Hosts.
func (h hosts) Rights(ctx context.Context, q client.RightsRequest) ([]string, error) {
	if h.node == nil {
		return nil, heddle.Errorf(heddle.NoStore, "change rights of host", q.Name, externalStore,
			"manage the rights of the etcd's users with etcdctl")
	}
	if (len(q.Grant) == 0) == (len(q.Revoke) == 0) {
		return nil, heddle.Errorf(heddle.BadArgument, "change rights of host", q.Name,
			"the request names rights to grant and rights to revoke, or none", "name rights for one of the two")
	}
	return rehearsed(h.operate(ctx, q.Credential, q.DryRun, func(ctx context.Context, o *join.Operator) error {
		if len(q.Grant) > 0 {
			return o.Grant(ctx, q.Name, q.Grant)
		}
		return o.Revoke(ctx, q.Name, q.Revoke)
	}))
}

// operate calls act with the rights of an operator's credential. In a dry run, act rehearses.
func (h hosts) operate(ctx context.Context, credential string, dryRun bool, act func(context.Context, *join.Operator) error) error {
	ctx, cancel := context.WithTimeout(ctx, operationTime)
	defer cancel()
	o, err := h.node.Operator(ctx, []byte(credential))
	if err != nil {
		return err
	}
	if dryRun {
		o.Rehearse()
	}
	return errors.Join(act(ctx, o), o.Close())
}

// Remove implements api.Hosts.
func (h hosts) Remove(ctx context.Context, q client.RemovalRequest) ([]string, error) {
	if q.Name == h.name {
		return nil, heddle.Errorf(heddle.BadArgument, "remove host", q.Name, "it is the host that was asked", "ask another host")
	}
	if h.node == nil {
		return rehearsed(h.removeExternal(ctx, q))
	}
	lines, err := rehearsed(h.operate(ctx, q.Credential, q.DryRun, func(ctx context.Context, o *join.Operator) error { return h.remove(ctx, o, q) }))
	if err != nil || !q.DryRun {
		return nil, err
	}
	lines = append(lines, "# the certificates of "+q.Name+" are refused from then on, and its address blocks go to other hosts")
	if q.By != "" {
		lines = append(lines, "# "+q.By+" keeps the store in its place")
	}
	return lines, nil
}

// remove removes a host, even one that has filled the store: a full store still accepts
// the removal of rights and deletions, and has room again some seconds later.
func (h hosts) remove(ctx context.Context, o *join.Operator, q client.RemovalRequest) error {
	err := h.removeOnce(ctx, o, q)
	if !errors.Is(err, heddle.StoreFull.Sentinel()) {
		return err
	}
	if err := o.DropRights(ctx, q.Name); err != nil {
		return err
	}
	if err := h.cluster.MakeRoom(ctx, o.Store(), q.Name); err != nil {
		return err
	}
	for errors.Is(err, heddle.StoreFull.Sentinel()) && ctx.Err() == nil {
		time.Sleep(time.Second)
		err = h.removeOnce(ctx, o, q)
	}
	return err
}

func (h hosts) removeOnce(ctx context.Context, o *join.Operator, q client.RemovalRequest) error {
	if err := o.Removable(ctx, q.Name, q.By); err != nil {
		return err
	}
	if q.By != "" && !h.cluster.View().Alive[q.By] {
		return heddle.Errorf(heddle.BadArgument, "replace host", q.Name,
			"the agent of "+q.By+" is not connected to the store", "start the agent of "+q.By+" first")
	}
	err := h.removeFromRecord(ctx, o.Store(), q)
	if errors.Is(err, heddle.NoHost.Sentinel()) {
		err = nil // it never connected, or an earlier removal was interrupted
	}
	if err != nil || q.DryRun {
		return err
	}
	if q.By != "" {
		return o.Replace(ctx, q.Name, q.By)
	}
	return o.Expel(ctx, q.Name)
}

// removeExternal removes a host with the rights that this host has in an external etcd, or
// with a credential for it.
func (h hosts) removeExternal(ctx context.Context, q client.RemovalRequest) error {
	if q.By != "" {
		return heddle.Errorf(heddle.NoStore, "replace host", q.Name, externalStore, "manage the members of the etcd with etcdctl")
	}
	if q.Credential != "" {
		return heddle.Errorf(heddle.BadArgument, "remove host", q.Name, "--credential is for an embedded store, and this host uses an external etcd",
			"leave --credential out, and start this host's agent with a certificate that may do this in the etcd")
	}
	ctx, cancel := context.WithTimeout(ctx, operationTime)
	defer cancel()
	if q.DryRun {
		return h.cluster.RemoveHost(ctx, store.Rehearse(h.store), q.Name, q.Force)
	}
	return h.removeFromRecord(ctx, h.store, q)
}

// removeFromRecord removes a host from the cluster's record. It waits for a host that counts as
// connected, which one that has died a moment ago does, too.
func (h hosts) removeFromRecord(ctx context.Context, s store.Store, q client.RemovalRequest) error {
	err := h.cluster.RemoveHost(ctx, s, q.Name, q.Force)
	if errors.Is(err, heddle.HostAlive.Sentinel()) && h.awaitAway(ctx, q.Name) {
		err = h.cluster.RemoveHost(ctx, s, q.Name, q.Force)
	}
	return err
}

// awayTime is how long a removal waits for a host that counts as connected. A store that has lost
// its leader with the host counts anew.
const awayTime = cluster.AliveTime + cluster.AliveTime/2

// awaitAway waits until a host does not count as connected to the store, and reports whether it does
// not.
func (h hosts) awaitAway(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, awayTime)
	defer cancel()
	for h.cluster.View().Alive[name] {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(200 * time.Millisecond):
		}
	}
	return true
}
