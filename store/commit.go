package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/heddle-network/heddle"
)

// MaxOps is the limit of the conditions of one change, and also of its puts and deletes
// together: etcd's own limit.
const MaxOps = 128

// Commit implements Store.
func (e *Etcd) Commit(ctx context.Context, c Change) (bool, int64, error) {
	object := c.object()
	if object == "" {
		return false, 0, heddle.Errorf(heddle.BadArgument, "change", "the store", "the change names no key",
			"name a key")
	}
	if n := len(c.Put) + len(c.Delete) + len(c.DeletePrefix); n > MaxOps || len(c.Require) > MaxOps {
		return false, 0, heddle.Errorf(heddle.BadArgument, "change store record", object, fmt.Sprintf("the change has %d conditions and %d keys", len(c.Require), n),
			fmt.Sprintf("split it: one change has at most %d of each", MaxOps))
	}
	var response *etcdserverpb.TxnResponse
	began := time.Now()
	err := e.retry(ctx, "change store record", object, retryChange, func(ctx context.Context) error {
		lease, err := e.leases.get(ctx, e, c.Lease)
		if err != nil {
			return err
		}
		response, err = e.kv().Txn(clientv3.WithRequireLeader(ctx), &etcdserverpb.TxnRequest{Compare: conditions(c.Require), Success: operations(c, lease), Failure: current(c)})
		if isError(err, rpctypes.ErrGRPCLeaseNotFound) {
			e.leases.forget(c.Lease, lease)
		}
		return err
	})
	if err != nil {
		e.health.failed(err, c.keys()[0])
		return false, 0, err
	}
	e.health.changed(time.Since(began))
	return response.Succeeded, response.Header.Revision, nil
}

// object names the change in error texts.
func (c Change) object() string {
	keys := c.keys()
	if len(keys) < 2 {
		return strings.Join(keys, "")
	}
	return fmt.Sprintf("%s and %d more", keys[0], len(keys)-1)
}

// keys are those that the change concerns: first those that it writes.
func (c Change) keys() []string {
	var all []string
	for _, p := range c.Put {
		all = append(all, p.Key)
	}
	all = append(append(all, c.Delete...), c.DeletePrefix...)
	for _, r := range c.Require {
		all = append(all, r.Key)
	}
	return all
}

func conditions(require []Condition) []*etcdserverpb.Compare {
	var all []*etcdserverpb.Compare
	for _, r := range require {
		c := &etcdserverpb.Compare{Target: etcdserverpb.Compare_MOD, Key: []byte(r.Key), Result: etcdserverpb.Compare_EQUAL}
		c.TargetUnion = &etcdserverpb.Compare_ModRevision{ModRevision: r.Revision}
		if r.Prefix {
			// An empty range compares like one key with revision 0.
			c.Key, c.RangeEnd = keyRange(r.Key)
			c.Result = etcdserverpb.Compare_LESS
			c.TargetUnion = &etcdserverpb.Compare_ModRevision{ModRevision: r.Revision + 1}
		}
		all = append(all, c)
	}
	return all
}

func operations(c Change, lease int64) []*etcdserverpb.RequestOp {
	var all []*etcdserverpb.RequestOp
	for _, p := range c.Put {
		put := &etcdserverpb.PutRequest{Key: []byte(p.Key), Value: p.Value, Lease: lease}
		all = append(all, &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: put}})
	}
	remove := func(d *etcdserverpb.DeleteRangeRequest) {
		all = append(all, &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestDeleteRange{RequestDeleteRange: d}})
	}
	for _, k := range c.Delete {
		remove(&etcdserverpb.DeleteRangeRequest{Key: []byte(k)})
	}
	for _, p := range c.DeletePrefix {
		key, end := keyRange(p)
		remove(&etcdserverpb.DeleteRangeRequest{Key: key, RangeEnd: end})
	}
	return all
}

// current has etcd check the conditions against what the cluster has agreed on. Without an operation, a
// transaction is answered by one member alone, which may lag behind its own events (IsTxnSerializable in
// etcd's server/etcdserver/txn/txn.go).
func current(c Change) []*etcdserverpb.RequestOp {
	if len(c.Put)+len(c.Delete)+len(c.DeletePrefix) > 0 {
		return nil
	}
	read := &etcdserverpb.RangeRequest{Key: []byte(c.Require[0].Key), CountOnly: true}
	return []*etcdserverpb.RequestOp{{Request: &etcdserverpb.RequestOp_RequestRange{RequestRange: read}}}
}

// keyRange is the range of all keys that start with the prefix.
func keyRange(prefix string) (key, end []byte) {
	if prefix == "" {
		return []byte{0}, []byte{0}
	}
	return []byte(prefix), []byte(clientv3.GetPrefixRangeEnd(prefix))
}
