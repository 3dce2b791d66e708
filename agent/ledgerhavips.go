package agent

import (
	"go.etcd.io/bbolt"

	"github.com/heddle-network/heddle/havip"
)

// The part of the ledger about HAVIPs. Who holds one is not known after a boot.

// keyHolders is the key of the one record of all holders.
var keyHolders = []byte("all")

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
		v := tx.Bucket(bucketHolders).Get(keyHolders)
		if v == nil {
			return nil
		}
		return read(keyHolders, v, &holders)
	})
}

func (l *ledger) putHAVIP(h havip.HAVIP) error {
	return put(l.disk, bucketHAVIPs, h.Name, h, "HAVIP "+h.Name)
}

func (l *ledger) dropHAVIP(name string) error {
	return forget(l.disk, bucketHAVIPs, name, "HAVIP "+name)
}

// putHolders replaces what is recorded of who holds which address, all at once.
func (l *ledger) putHolders(all havip.Holders) error {
	return put(l.boot, bucketHolders, string(keyHolders), all, "the holders of HAVIPs")
}
