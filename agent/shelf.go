package agent

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/heddle-network/heddle"
)

// The part of the ledger about networks.

func (l *ledger) networks() ([]heddle.Network, error) {
	var all []heddle.Network
	err := l.disk.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketNetworks).ForEach(func(k, v []byte) error {
			var n heddle.Network
			value, err := unseal(k, v)
			if err == nil {
				err = json.Unmarshal(value, &n)
			}
			all = append(all, n)
			return broken(k, err)
		})
	})
	return all, err
}

func (l *ledger) putNetwork(n heddle.Network) error {
	return put(l.disk, bucketNetworks, n.ID, n, "network "+n.Name)
}

func (l *ledger) dropNetwork(n heddle.Network) error {
	err := update(l.disk, func(tx *bbolt.Tx) error {
		for _, family := range []string{"4", "6"} {
			for _, key := range []string{n.ID + "/" + family, sourceKey(n.ID, family == "4")} {
				if err := tx.Bucket(bucketCursors).Delete([]byte(key)); err != nil {
					return err
				}
			}
		}
		return tx.Bucket(bucketNetworks).Delete([]byte(n.ID))
	})
	if err != nil {
		return writeError("network "+n.Name, err)
	}
	return nil
}

// plan returns the recorded plan of a network, and whether there is one.
func (l *ledger) plan(network string) (heddle.Plan, bool, error) {
	var p heddle.Plan
	var value []byte
	err := l.boot.View(func(tx *bbolt.Tx) error {
		value = append(value, tx.Bucket(bucketPlans).Get([]byte(network))...)
		return nil
	})
	if err != nil || value == nil {
		return p, false, err
	}
	value, err = unseal([]byte(network), value)
	if err == nil {
		err = json.Unmarshal(value, &p)
	}
	return p, true, broken([]byte(network), err)
}

func (l *ledger) putPlan(network string, p heddle.Plan) error {
	if err := l.reserve(); err != nil {
		return err
	}
	return put(l.boot, bucketPlans, network, p, "plan of network "+network)
}

func (l *ledger) dropPlan(network string) error {
	err := update(l.boot, func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketPlans).Delete([]byte(network))
	})
	if err != nil {
		return writeError("plan of network "+network, err)
	}
	return nil
}

// setUnclaimed records that the kernel holds objects of endpoints whose records
// are lost: they may be alive, so nothing is pruned until gc is called.
func (l *ledger) setUnclaimed(on bool) error {
	if on {
		return put(l.boot, bucketMeta, "unclaimed", true, "unclaimed endpoints")
	}
	err := update(l.boot, func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Delete([]byte("unclaimed")) })
	if err != nil {
		return writeError("unclaimed endpoints", err)
	}
	return nil
}

func (l *ledger) unclaimed() (on bool, err error) {
	err = l.boot.View(func(tx *bbolt.Tx) error {
		on = tx.Bucket(bucketMeta).Get([]byte("unclaimed")) != nil
		return nil
	})
	return on, err
}

// forgetPlans drops the plans of all networks but those to keep: what a crash
// left between a network's plan and the network.
func (l *ledger) forgetPlans(keep map[string]bool) error {
	err := update(l.boot, func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketPlans).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			if keep[string(k)] {
				continue
			}
			if err := c.Delete(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return writeError("plans", err)
	}
	return nil
}

// putCursor records where allocation stands, so that after a reboot it goes on
// with the addresses that were used longest ago. It is written now and then, off
// the attach path: to be a little behind does no harm.
func (l *ledger) putCursor(network, family string, a netip.Addr) error {
	return put(l.disk, bucketCursors, network+"/"+family, a, "address cursor")
}

func (l *ledger) cursors(network string) (map[string]netip.Addr, error) {
	all := map[string]netip.Addr{}
	err := l.disk.View(func(tx *bbolt.Tx) error {
		for _, family := range []string{"4", "6"} {
			var a netip.Addr
			if v := tx.Bucket(bucketCursors).Get([]byte(network + "/" + family)); v != nil {
				value, err := unseal([]byte(network+"/"+family), v)
				if err == nil {
					err = json.Unmarshal(value, &a)
				}
				if err != nil {
					return broken([]byte("cursor of "+network), err)
				}
				all[family] = a
			}
		}
		return nil
	})
	return all, err
}

// putSource records the address of a shared network that the host keeps for
// itself, in place of another; the zero address is none.
func (l *ledger) putSource(network string, v4 bool, a netip.Addr) error {
	return put(l.disk, bucketCursors, sourceKey(network, v4), a, "the host's own address")
}

// sources are the addresses that the host keeps for itself of a network.
func (l *ledger) sources(network string) (all []netip.Addr, err error) {
	err = l.disk.View(func(tx *bbolt.Tx) error {
		for _, v4 := range []bool{true, false} {
			key := []byte(sourceKey(network, v4))
			v := tx.Bucket(bucketCursors).Get(key)
			if v == nil {
				continue
			}
			var a netip.Addr
			value, err := unseal(key, v)
			if err == nil {
				err = json.Unmarshal(value, &a)
			}
			if err != nil {
				return broken(key, err)
			}
			if a.IsValid() {
				all = append(all, a)
			}
		}
		return nil
	})
	return all, err
}

func sourceKey(network string, v4 bool) string {
	if v4 {
		return network + "/source4"
	}
	return network + "/source6"
}

func put(db *bbolt.DB, bucket []byte, key string, value any, object string) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	data = seal([]byte(key), data)
	same := false
	err = db.View(func(tx *bbolt.Tx) error {
		same = bytes.Equal(tx.Bucket(bucket).Get([]byte(key)), data)
		return nil
	})
	if err != nil || same { // what is written already needs no room on the disk
		return err
	}
	err = update(db, func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put([]byte(key), data) })
	if err != nil {
		return writeError(object, err)
	}
	return nil
}

// quarantined lists the addresses freed on a network and when.
func (l *ledger) quarantined(network string) (map[netip.Addr]time.Time, error) {
	all := map[netip.Addr]time.Time{}
	err := l.boot.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketQuarantine).ForEach(func(k, v []byte) error {
			id, address, _ := strings.Cut(string(k), "/")
			if id != network {
				return nil
			}
			value, err := unseal(k, v)
			if err != nil {
				return broken(k, err)
			}
			a, err := netip.ParseAddr(address)
			if err != nil {
				return broken(k, err)
			}
			since, err := time.Parse(time.RFC3339Nano, string(value))
			all[a] = since
			return broken(k, err)
		})
	})
	return all, err
}
