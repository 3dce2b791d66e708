package agent

import (
	"net/netip"

	"go.etcd.io/bbolt"

	"github.com/heddle-network/heddle/vpcroute"
)

// The part of the ledger about the static routes of a VPC.

func (l *ledger) routes() (vpcroute.Table, error) {
	all := vpcroute.Table{}
	err := l.disk.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketRoutes).ForEach(func(k, v []byte) error {
			var r vpcroute.Route
			err := read(k, v, &r)
			if err == nil {
				err = brokenRecord(k, r.Check())
			}
			all[r.Destination] = r
			return err
		})
	})
	return all, err
}

func (l *ledger) putRoute(r vpcroute.Route) error {
	return put(l.disk, bucketRoutes, r.Destination.String(), r, "route to "+r.Destination.String())
}

func (l *ledger) dropRoute(destination netip.Prefix) error {
	return forget(l.disk, bucketRoutes, destination.String(), "route to "+destination.String())
}
