package agent

import (
	"encoding/json"

	"go.etcd.io/bbolt"

	"github.com/heddle-network/heddle/policy"
)

// The part of the ledger about policies.

func (l *ledger) policies() (policy.Policies, error) {
	all := policy.Policies{}
	err := l.disk.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketPolicies).ForEach(func(k, v []byte) error {
			var p policy.Policy
			err := read(k, v, &p)
			if err == nil {
				err = brokenRecord(k, p.Check())
			}
			all[p.Name] = p
			return err
		})
	})
	return all, err
}

// putPolicies replaces all policies in one transaction.
func (l *ledger) putPolicies(all policy.Policies) error {
	return update(l.disk, "policies", func(tx *bbolt.Tx) error {
		if err := tx.DeleteBucket(bucketPolicies); err != nil {
			return err
		}
		b, err := tx.CreateBucket(bucketPolicies)
		if err != nil {
			return err
		}
		for name, p := range all {
			value, err := json.Marshal(p)
			if err != nil {
				return err
			}
			if err := b.Put([]byte(name), seal([]byte(name), value)); err != nil {
				return err
			}
		}
		return nil
	})
}
