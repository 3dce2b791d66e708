package store

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// leases are this store's leases, by their time to live in seconds. An expired one is
// forgotten, and the next change makes another. The caller learns from a watch that its
// entries are gone, and puts them again.
type leases struct {
	mu  sync.Mutex
	ids map[int64]int64
}

// get returns the lease of that time to live, 0 for none.
func (l *leases) get(ctx context.Context, e *Etcd, seconds int64) (int64, error) {
	if seconds == 0 {
		return 0, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, ok := l.ids[seconds]; ok {
		return id, nil
	}
	granted, err := e.lease().LeaseGrant(clientv3.WithRequireLeader(ctx), &etcdserverpb.LeaseGrantRequest{TTL: seconds})
	if err != nil {
		return 0, err
	}
	if e.ctx.Err() != nil { // the store was closed meanwhile: the lease expires
		return 0, e.ctx.Err()
	}
	if l.ids == nil {
		l.ids = map[int64]int64{}
	}
	l.ids[seconds] = granted.ID
	e.running.Go(func() { l.keep(e, seconds, granted.ID) })
	return granted.ID, nil
}

func (l *leases) forget(seconds int64, id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids[seconds] == id {
		delete(l.ids, seconds)
	}
}

// keep renews the lease until the store says that it is gone.
func (l *leases) keep(e *Etcd, seconds int64, id int64) {
	third := time.Duration(seconds) * time.Second / 3
	for wait := third; ; {
		select {
		case <-e.ctx.Done():
			return
		case <-time.After(wait):
		}
		ctx, cancel := context.WithTimeout(e.ctx, third)
		gone, err := e.renew(ctx, id)
		cancel()
		switch {
		case gone:
			l.forget(seconds, id)
			return
		case err == nil:
			wait = third
		default:
			wait = min(third, 500*time.Millisecond)
		}
	}
}

func (e *Etcd) lease() etcdserverpb.LeaseClient {
	return etcdserverpb.NewLeaseClient(e.client.ActiveConnection())
}

// renew asks for the lease's full time again, and reports whether the lease is gone.
func (e *Etcd) renew(ctx context.Context, id int64) (gone bool, err error) {
	ctx, cancel := context.WithCancel(ctx) // ends the stream
	defer cancel()
	stream, err := e.lease().LeaseKeepAlive(ctx)
	if err != nil {
		return false, err
	}
	if err := stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: id}); err != nil {
		return false, err
	}
	r, err := stream.Recv()
	if err != nil {
		return isError(err, rpctypes.ErrGRPCLeaseNotFound), err
	}
	return r.TTL <= 0, nil
}

// revoke ends the leases, so that others see at once that this host is gone.
func (l *leases) revoke(e *Etcd) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for seconds, id := range l.ids {
		_, _ = e.lease().LeaseRevoke(ctx, &etcdserverpb.LeaseRevokeRequest{ID: id}) // else they expire
		delete(l.ids, seconds)
	}
}
