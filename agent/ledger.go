package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/heddle-network/heddle"
)

// ledger is the host's own record, in two files:
//
//	STATE/heddle.db   networks and address cursors; on disk, synced
//	RUN/ledger.db     what was made in the kernel, and intents; in memory (the
//	                  run folder is a tmpfs), not synced: kill -9 loses nothing
//	                  there, and a reboot loses every kernel object anyway
//
// An intent is written before the deed and cleared after it.
type ledger struct {
	disk, boot *bbolt.DB
	// fresh says that the ledger had no record of kernel objects at all.
	fresh bool
	// allocated is up to where this agent has allocated the run ledger's file.
	allocated atomic.Int64
}

// record is one endpoint with the plan by which it was made.
type record struct {
	Endpoint heddle.Endpoint      `json:"endpoint"`
	Request  heddle.AttachRequest `json:"request"`
	Plan     heddle.Plan          `json:"plan"`
	// Inode is the inode number of the container's namespace. Cookie tells the namespace
	// from a later one with the same number.
	Inode  uint64 `json:"inode,omitempty"`
	Cookie uint64 `json:"cookie,omitempty"`
	// Device is the interface index of the container's device there, if that is on a parent. The
	// container may change the device's name, alias and MAC address.
	Device int `json:"device,omitempty"`
	// ParentIndex is the parent's interface index. The operator may change the parent's name.
	ParentIndex int `json:"under,omitempty"`
	// OtherMACs are the MAC addresses that were on the parent before and belong to no endpoint
	// here.
	OtherMACs []heddle.MAC `json:"beside,omitempty"`
}

// The operations that an intent can be about.
const (
	intentAttach = "attach"
	intentDetach = "detach"
	// intentDefault is a change of the container's default route.
	intentDefault = "default route"
)

var (
	bucketNetworks   = []byte("networks")   // disk: id -> Network
	bucketPolicies   = []byte("policies")   // disk: name -> Policy
	bucketHAVIPs     = []byte("havips")     // disk: name -> HAVIP
	bucketRoutes     = []byte("routes")     // disk: destination -> Route
	bucketHolders    = []byte("holders")    // boot: "all" -> HAVIP's name -> endpoint id
	bucketCursors    = []byte("cursors")    // disk: network/family -> next address
	bucketMeta       = []byte("meta")       // boot: "boot-id"
	bucketEndpoints  = []byte("endpoints")  // boot: endpoint id -> record
	bucketIntents    = []byte("intents")    // boot: endpoint id -> operation
	bucketPlans      = []byte("plans")      // boot: network id -> Plan
	bucketQuarantine = []byte("quarantine") // boot: network/address -> time freed
)

// openLedger opens and checks both files. If a file is broken, it fails and changes nothing.
func openLedger(stateDir, runDir, bootID string) (*ledger, error) {
	disk, err := openFile(filepath.Join(stateDir, "heddle.db"), false, bucketNetworks, bucketCursors)
	if err == nil {
		err = addBuckets(disk, bucketPools, bucketLeases, bucketPolicies, bucketHAVIPs, bucketRoutes) // files of older agents lack them
	}
	if err != nil {
		return nil, err
	}
	boot, err := openFile(filepath.Join(runDir, "ledger.db"), true, bucketMeta, bucketEndpoints, bucketIntents,
		bucketPlans, bucketQuarantine)
	if err == nil {
		err = addBuckets(boot, bucketHolders)
	}
	if err != nil {
		return nil, errors.Join(err, disk.Close())
	}
	l := &ledger{disk: disk, boot: boot}
	if err := l.forgetOtherBoot(bootID); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func openFile(path string, volatile bool, buckets ...[]byte) (db *bbolt.DB, err error) {
	const remedy = "restore it from a copy, or move it away and run 'heddle gc' afterwards"
	defer func() {
		if cause := recover(); cause != nil {
			db, err = nil, heddle.Wrap(heddle.LedgerBroken, "open ledger", path, fmt.Errorf("%v", cause), remedy)
		}
	}()
	// reading beyond the end of a truncated file must be a panic, which can be recovered, not a
	// crash
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if err := checkFile(path, volatile, buckets...); err != nil {
		return nil, heddle.Wrap(heddle.LedgerBroken, "check ledger", path, err, remedy)
	}
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, NoSync: volatile, NoFreelistSync: true,
		NoGrowSync: volatile})
	if err != nil {
		return nil, heddle.Wrap(codeOfOpen(err), "open ledger", path, err, remedy)
	}
	if err := consistent(db); err != nil {
		return nil, errors.Join(heddle.Wrap(heddle.LedgerBroken, "check ledger", path, err, remedy), db.Close())
	}
	if err := addBuckets(db, buckets...); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func addBuckets(db *bbolt.DB, buckets ...[]byte) error {
	return update(db, db.Path(), func(tx *bbolt.Tx) error {
		for _, b := range buckets {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		return nil
	})
}

func codeOfOpen(err error) heddle.Code {
	if errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), "no space") {
		return heddle.LedgerFull
	}
	return heddle.LedgerBroken
}

func consistent(db *bbolt.DB) error {
	return db.View(func(tx *bbolt.Tx) error {
		var first error
		for err := range tx.Check() {
			if first == nil {
				first = err
			}
		}
		return first
	})
}

func writeError(object string, err error) error {
	return heddle.Wrap(heddle.LedgerFull, "write ledger for", object, err,
		"make room on the file system of the state and run folders")
}

func (l *ledger) close() error { return errors.Join(l.disk.Close(), l.boot.Close()) }

// forgetOtherBoot drops the records of kernel objects of an earlier boot: the objects are gone.
func (l *ledger) forgetOtherBoot(bootID string) error {
	return update(l.boot, "boot "+bootID, func(tx *bbolt.Tx) error {
		meta, key := tx.Bucket(bucketMeta), []byte("boot-id")
		if sealed := meta.Get(key); sealed != nil {
			recorded, err := unseal(key, sealed)
			if err != nil {
				return heddle.Wrap(heddle.LedgerBroken, "read record", "boot ID", err,
					"move the run folder's ledger.db away and run 'heddle gc'")
			}
			if string(recorded) == bootID {
				return nil
			}
		} else {
			l.fresh = true
		}
		for _, b := range [][]byte{bucketEndpoints, bucketIntents, bucketPlans, bucketQuarantine} {
			if err := tx.DeleteBucket(b); err != nil {
				return err
			}
			if _, err := tx.CreateBucket(b); err != nil {
				return err
			}
		}
		return meta.Put(key, seal(key, []byte(bootID)))
	})
}

// putIntent records an endpoint that is about to be made or removed.
func (l *ledger) putIntent(r record, op string) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if op == intentAttach {
		if err := l.reserveSpace(); err != nil {
			return err
		}
	}
	key := []byte(r.Endpoint.ID.String())
	return update(l.boot, r.Endpoint.ID.String(), func(tx *bbolt.Tx) error {
		if err := tx.Bucket(bucketEndpoints).Put(key, seal(key, value)); err != nil {
			return err
		}
		for _, a := range r.Endpoint.AllAddrs() {
			if err := tx.Bucket(bucketQuarantine).Delete(addressKey(r.Endpoint.Network, a.Addr())); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketIntents).Put(key, seal(key, []byte(op)))
	})
}

// putRecord replaces an endpoint's record; an open intent stays open.
func (l *ledger) putRecord(r record) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	key := []byte(r.Endpoint.ID.String())
	return update(l.boot, r.Endpoint.ID.String(), func(tx *bbolt.Tx) error { return tx.Bucket(bucketEndpoints).Put(key, seal(key, value)) })
}

// clearIntent clears the intent: the endpoint is made.
func (l *ledger) clearIntent(id heddle.EndpointID) error {
	return forget(l.boot, bucketIntents, id.String(), id.String())
}

// drop drops an endpoint's record. Its addresses are in quarantine from freed on.
func (l *ledger) drop(e heddle.Endpoint, freed time.Time) error {
	key := []byte(e.ID.String())
	return update(l.boot, e.ID.String(), func(tx *bbolt.Tx) error {
		if err := putFreed(tx, e.Network, e.AllAddrs(), freed); err != nil {
			return err
		}
		if err := tx.Bucket(bucketEndpoints).Delete(key); err != nil {
			return err
		}
		return tx.Bucket(bucketIntents).Delete(key)
	})
}

func addressKey(network string, a netip.Addr) []byte { return []byte(network + "/" + a.String()) }

// brokenRecord returns the error about a record that cannot be read.
func brokenRecord(key []byte, err error) error {
	if err == nil {
		return nil
	}
	return heddle.Wrap(heddle.LedgerBroken, "read record", fmt.Sprintf("%q", key), err,
		"restore the ledger from a copy, or move it away and run 'heddle gc' afterwards")
}

// endpoints reads all endpoints' records and their intents.
func (l *ledger) endpoints() (all []record, intents map[string]string, err error) {
	intents = map[string]string{}
	err = l.boot.View(func(tx *bbolt.Tx) error {
		err := tx.Bucket(bucketIntents).ForEach(func(k, v []byte) error {
			op, err := unseal(k, v)
			intents[string(k)] = string(op)
			return brokenRecord(k, err)
		})
		if err != nil {
			return err
		}
		var keys, values [][]byte // they hold as long as the transaction
		err = tx.Bucket(bucketEndpoints).ForEach(func(k, v []byte) error {
			keys, values = append(keys, k), append(values, v)
			return nil
		})
		if err != nil {
			return err
		}
		all = make([]record, len(keys))
		failed := make([]error, len(keys))
		inParallel(len(keys), func(i int) { failed[i] = read(keys[i], values[i], &all[i]) })
		for _, err := range failed {
			if err != nil {
				return err
			}
		}
		return nil
	})
	return all, intents, err
}
