package store

import (
	"context"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Read implements Store.
func (e *Etcd) Read(ctx context.Context, prefix string) (Snapshot, error) {
	key, end := keyRange(prefix)
	var response *etcdserverpb.RangeResponse
	err := e.retry(ctx, "read store records below", prefix, retryRead, func(ctx context.Context) (err error) {
		// A member that hangs must not use up the whole call's time.
		ctx, cancel := context.WithTimeout(ctx, e.options.Patience/2)
		defer cancel()
		response, err = e.kv().Range(clientv3.WithRequireLeader(ctx), &etcdserverpb.RangeRequest{Key: key, RangeEnd: end})
		return err
	})
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{Revision: response.Header.Revision}
	for _, kv := range response.Kvs {
		s.Entries = append(s.Entries, entry(kv))
	}
	return s, nil
}

func entry(kv *mvccpb.KeyValue) Entry {
	return Entry{Key: string(kv.Key), Value: kv.Value, Revision: kv.ModRevision, Created: kv.CreateRevision}
}

// The calls are gRPC's own. Etcd's client would wait for a connection until the call's
// time is up, and then not say why there was none.
func (e *Etcd) kv() etcdserverpb.KVClient {
	return etcdserverpb.NewKVClient(e.client.ActiveConnection())
}
