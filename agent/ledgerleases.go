package agent

import (
	"time"

	"go.etcd.io/bbolt"
)

// The part of the ledger about pools and leases, which engines ask for before there is a network
// or an endpoint. It is on disk, because engines remember them across a reboot.

var (
	bucketPools  = []byte("pools")  // disk: pool id -> Pool
	bucketLeases = []byte("leases") // disk: pool id|address -> Lease
)

func (l *ledger) putPool(p Pool) error { return put(l.disk, bucketPools, p.ID, p, "pool "+p.ID) }

func (l *ledger) dropPool(id string) error { return forget(l.disk, bucketPools, id, "pool "+id) }

func (l *ledger) putLease(x Lease) error {
	return put(l.disk, bucketLeases, leaseKey(x.Pool, x.Addr.Addr()), x, "lease of "+x.Addr.String())
}

func (l *ledger) dropLease(x Lease) error {
	return forget(l.disk, bucketLeases, leaseKey(x.Pool, x.Addr.Addr()), "lease of "+x.Addr.String())
}

// leases reads all leases and pools.
func (l *ledger) leases() (leases map[string]Lease, pools map[string]Pool, err error) {
	leases, pools = map[string]Lease{}, map[string]Pool{}
	err = l.disk.View(func(tx *bbolt.Tx) error {
		err := tx.Bucket(bucketLeases).ForEach(func(k, v []byte) error {
			x := Lease{since: time.Now()}
			err := read(k, v, &x)
			leases[string(k)] = x
			return err
		})
		if err != nil {
			return err
		}
		return tx.Bucket(bucketPools).ForEach(func(k, v []byte) error {
			var x Pool
			err := read(k, v, &x)
			pools[string(k)] = x
			return err
		})
	})
	return leases, pools, err
}
