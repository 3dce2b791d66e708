package agent

import (
	"go.etcd.io/bbolt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
)

// The part of the ledger about HAVIPs. Who holds one is not known after a boot.

func (l *ledger) havips() (havip.All, havip.Holders, error) {
	all, holders := havip.All{}, havip.Holders{}
	err := l.disk.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketHAVIPs).ForEach(func(k, v []byte) error {
			var h havip.HAVIP
			err := read(k, v, &h)
			if err == nil {
				err = brokenRecord(k, h.Check())
			}
			all[h.Name] = h
			return err
		})
	})
	if err != nil {
		return nil, nil, err
	}
	return all, holders, l.boot.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketHolders).ForEach(func(k, v []byte) error {
			var id heddle.EndpointID
			err := read(k, v, &id)
			holders[string(k)] = id
			return err
		})
	})
}

func (l *ledger) putHAVIP(h havip.HAVIP) error {
	return put(l.disk, bucketHAVIPs, h.Name, h, "HAVIP "+h.Name)
}

func (l *ledger) dropHAVIP(name string) error {
	return forget(l.disk, bucketHAVIPs, name, "HAVIP "+name)
}

// putHolders replaces what is recorded of who holds which address.
func (l *ledger) putHolders(old, next havip.Holders) error {
	for name := range old {
		if _, held := next[name]; !held {
			if err := forget(l.boot, bucketHolders, name, "the holder of HAVIP "+name); err != nil {
				return err
			}
		}
	}
	for name, id := range next {
		if id != old[name] {
			if err := put(l.boot, bucketHolders, name, id, "the holder of HAVIP "+name); err != nil {
				return err
			}
		}
	}
	return nil
}
