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
			err := read(k, v, &n)
			all = append(all, n)
			return err
		})
	})
	return all, err
}

func (l *ledger) putNetwork(n heddle.Network) error {
	return put(l.disk, bucketNetworks, n.ID, n, "network "+n.Name)
}

func (l *ledger) dropNetwork(n heddle.Network) error {
	return update(l.disk, "network "+n.Name, func(tx *bbolt.Tx) error {
		for _, f := range heddle.Families() {
			for _, key := range []string{cursorKey(n.ID, f), sourceKey(n.ID, f)} {
				if err := tx.Bucket(bucketCursors).Delete([]byte(key)); err != nil {
					return err
				}
			}
		}
		return tx.Bucket(bucketNetworks).Delete([]byte(n.ID))
	})
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
	err = read([]byte(network), value, &p)
	return p, true, err
}

func (l *ledger) putPlan(network string, p heddle.Plan) error {
	if err := l.reserveSpace(); err != nil {
		return err
	}
	return put(l.boot, bucketPlans, network, p, "plan of network "+network)
}

func (l *ledger) dropPlan(network string) error {
	return forget(l.boot, bucketPlans, network, "plan of network "+network)
}

// setUnclaimed records that the kernel has objects of endpoints whose records are lost. These
// endpoints may be in use, so nothing is pruned until GC is called.
func (l *ledger) setUnclaimed(on bool) error {
	if on {
		return put(l.boot, bucketMeta, "unclaimed", true, "unclaimed endpoints")
	}
	return forget(l.boot, bucketMeta, "unclaimed", "unclaimed endpoints")
}

// forgetPlans drops the plans of all networks but those to keep: a crash may have left a plan
// without its network.
func (l *ledger) forgetPlans(keep map[string]string) error {
	return update(l.boot, "plans", func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketPlans).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			if _, is := keep[string(k)]; is {
				continue
			}
			if err := c.Delete(); err != nil {
				return err
			}
		}
		return nil
	})
}

// putCursor records where the search for a free address continues, so that after a reboot it
// begins with the addresses that were unused for the longest time. It is written now and then, not
// in every attach: a slightly old value does no harm.
func (l *ledger) putCursor(network string, f heddle.Family, a netip.Addr) error {
	return put(l.disk, bucketCursors, cursorKey(network, f), a, "address cursor")
}

func (l *ledger) cursors(network string) (map[heddle.Family]netip.Addr, error) {
	all := map[heddle.Family]netip.Addr{}
	err := l.disk.View(func(tx *bbolt.Tx) error {
		for _, f := range heddle.Families() {
			var a netip.Addr
			key := []byte(cursorKey(network, f))
			if v := tx.Bucket(bucketCursors).Get(key); v != nil {
				value, err := unseal(key, v)
				if err == nil {
					err = json.Unmarshal(value, &a)
				}
				if err != nil {
					return brokenRecord([]byte("cursor of "+network), err)
				}
				all[f] = a
			}
		}
		return nil
	})
	return all, err
}

// putSource records the address of a shared network that the host keeps for itself, in place of
// the previous one. The zero address means none.
func (l *ledger) putSource(network string, f heddle.Family, a netip.Addr) error {
	return put(l.disk, bucketCursors, sourceKey(network, f), a, "the host's own address")
}

// sources returns the addresses of a network that the host keeps for itself.
func (l *ledger) sources(network string) (all []netip.Addr, err error) {
	err = l.disk.View(func(tx *bbolt.Tx) error {
		for _, f := range heddle.Families() {
			key := []byte(sourceKey(network, f))
			v := tx.Bucket(bucketCursors).Get(key)
			if v == nil {
				continue
			}
			var a netip.Addr
			if err := read(key, v, &a); err != nil {
				return err
			}
			if a.IsValid() {
				all = append(all, a)
			}
		}
		return nil
	})
	return all, err
}

func cursorKey(network string, f heddle.Family) string { return network + "/" + f.Digit() }

func sourceKey(network string, f heddle.Family) string { return network + "/source" + f.Digit() }

func read(key, sealed []byte, into any) error {
	value, err := unseal(key, sealed)
	if err == nil {
		err = json.Unmarshal(value, into)
	}
	return brokenRecord(key, err)
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
	if err != nil || same { // what is written already needs no space on disk
		return err
	}
	return update(db, object, func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put([]byte(key), data) })
}

func forget(db *bbolt.DB, bucket []byte, key, object string) error {
	return update(db, object, func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Delete([]byte(key)) })
}

// quarantined lists the addresses that were freed on a network, and when.
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
				return brokenRecord(k, err)
			}
			a, err := netip.ParseAddr(address)
			if err != nil {
				return brokenRecord(k, err)
			}
			since, err := time.Parse(time.RFC3339Nano, string(value))
			all[a] = since
			return brokenRecord(k, err)
		})
	})
	return all, err
}

// noteFreed records that addresses are in quarantine from freed on.
func (l *ledger) noteFreed(network string, addrs []netip.Prefix, freed time.Time) error {
	if len(addrs) == 0 {
		return nil
	}
	return update(l.boot, "addresses of network "+network, func(tx *bbolt.Tx) error { return putFreed(tx, network, addrs, freed) })
}

func putFreed(tx *bbolt.Tx, network string, addrs []netip.Prefix, freed time.Time) error {
	for _, a := range addrs {
		k := addressKey(network, a.Addr())
		if err := tx.Bucket(bucketQuarantine).Put(k, seal(k, []byte(freed.Format(time.RFC3339Nano)))); err != nil {
			return err
		}
	}
	return nil
}
