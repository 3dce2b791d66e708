package attack_test

import (
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/join"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/poll"
)

// wordAttacks are those of who has a host's certificate, on the networks that hosts
// share: they take an operator's word. The host that has it can.
func wordAttacks() []ownAttack {
	return []ownAttack{
		{class: "word", name: "a host's certificate, to make a shared network", modes: "overlay", mount: asHost(makeNetwork)},
		{class: "word", name: "a host's certificate, to change a shared network", modes: "overlay", mount: asHost(changeNetwork)},
		{class: "word", name: "a host's certificate, to delete a shared network", modes: "overlay", mount: asHost(deleteNetwork)},
		{class: "word", name: "the certificate of a host whose right was taken back, to make a shared network", modes: "overlay", mount: afterRevoke},
		{class: "word", name: "the certificate of a host that an earlier version let in, to make a shared network", modes: "overlay", mount: afterUpgrade},
		{class: "word", name: "the certificate of a host that keeps the store no more, to make a shared network", modes: "overlay", mount: afterDemotion(makeNetwork)},
		{class: "word", name: "the certificate of a founder that keeps the store no more, to change the cluster's ranges", modes: "overlay", mount: afterDemotion(changeRanges)},
	}
}

var sharedKey = cluster.Prefix + "networks/app"

func makeNetwork(s store.Store) error {
	_, _, err := s.Commit(ctx, store.Change{Put: []store.Entry{{Key: cluster.Prefix + "networks/evil", Value: []byte("{}")}}})
	return err
}

func changeNetwork(s store.Store) error {
	_, _, err := s.Commit(ctx, store.Change{Put: []store.Entry{{Key: sharedKey, Value: []byte(`{"deleting":true}`)}}})
	return err
}

func deleteNetwork(s store.Store) error {
	_, _, err := s.Commit(ctx, store.Change{Delete: []string{sharedKey}})
	return err
}

func changeRanges(s store.Store) error {
	_, _, err := s.Commit(ctx, store.Change{Put: []store.Entry{{Key: cluster.Prefix + "cluster", Value: []byte(`{"ranges":["8.0.0.0/8"]}`)}}})
	return err
}

// asHost does so by the certificate of a host; opened, an operator has given it the
// right.
func asHost(do func(store.Store) error) func(*testing.T, string, bool) bool {
	return func(t *testing.T, _ string, open bool) bool {
		r := newRealm(t, 2)
		if _, _, err := r.operator().Store().Commit(ctx, store.Change{Put: []store.Entry{{Key: sharedKey, Value: []byte("{}")}}}); err != nil {
			t.Fatal(err)
		}
		if open {
			r.grant("host2")
		}
		return r.succeeds(do(r.hosts[2].Store()))
	}
}

// afterRevoke had the right, and has it no more; opened, it still has.
func afterRevoke(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	r.grant("host2")
	if err := makeNetwork(r.hosts[2].Store()); err != nil {
		t.Fatal(err)
	}
	if !open {
		if err := r.operator().Revoke(ctx, "host2", []string{join.Networks}); err != nil {
			t.Fatal(err)
		}
	}
	return r.succeeds(makeNetwork(r.hosts[2].Store()))
}

// afterUpgrade has what earlier versions gave to all hosts, until those that keep the
// store run this version; opened, an operator has given the right.
func afterUpgrade(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	if open {
		r.grant("host2")
	}
	c := r.operator().Store().(*store.Etcd).Client()
	prefix := cluster.Prefix + "networks/"
	if _, err := c.RoleGrantPermission(ctx, r.hosts[2].Self().Name+"@"+r.hosts[2].Self().ID, prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite)); err != nil {
		t.Fatal(err)
	}
	if err := makeNetwork(r.hosts[2].Store()); err != nil {
		t.Fatal(err)
	}
	r.restart(1)
	patience := time.Minute
	if open {
		patience = 10 * time.Second
	}
	var denied error
	_, err := poll.Until(patience, 300*time.Millisecond, poll.True(func() bool {
		denied = makeNetwork(r.hosts[2].Store())
		return store.Denied(denied)
	}))
	return err != nil || r.succeeds(denied)
}

// afterDemotion had the right as a keeper of the store; opened, it is one still.
func afterDemotion(do func(store.Store) error) func(*testing.T, string, bool) bool {
	return func(t *testing.T, _ string, open bool) bool {
		r := newRealm(t, 3)
		r.promote(2, 3)
		if !open {
			o, err := r.hosts[2].Operator(ctx, nil)
			if err == nil {
				err = errors.Join(o.Demote(ctx, []string{"host1"}), o.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := poll.Until(time.Minute, 300*time.Millisecond, func() error {
			err := do(r.hosts[1].Store())
			if store.Denied(err) {
				return poll.Final(err)
			}
			return err
		})
		return r.succeeds(err)
	}
}

// grant gives a host the right to write networks.
func (r *realm) grant(host string) {
	r.Helper()
	if err := r.operator().Grant(ctx, host, []string{join.Networks}); err != nil {
		r.Fatal(err)
	}
}

// restart has a host's agent start again.
func (r *realm) restart(i int) {
	r.Helper()
	o := r.options(i)
	if err := r.hosts[i].Close(); err != nil {
		r.Fatal(err)
	}
	n, err := join.Open(ctx, o)
	if err != nil {
		r.Fatal(err)
	}
	r.hosts[i] = n
	r.alive(n, o.Name)
}
