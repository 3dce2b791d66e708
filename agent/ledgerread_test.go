package agent

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/heddle-network/heddle"
)

// TestLedgerContents: everything is read at once. A broken record is an error, except for a plan,
// which is computed again.
func TestLedgerContents(t *testing.T) {
	network := heddle.Network{ID: "n1", Name: "net", Mode: "bridge"}
	addr := netip.MustParseAddr("10.0.0.2")
	id := heddle.EndpointID{Container: "c1", IfName: "eth0"}
	open := func(t *testing.T) *ledger {
		t.Helper()
		l, err := openLedger(t.TempDir(), t.TempDir(), "boot")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.close() })
		for _, err := range []error{
			l.putNetwork(network), l.putCursor("n1", heddle.IPv4, addr), l.putSource("n1", heddle.IPv4, addr.Next()),
			l.putPlan("n1", heddle.Plan{}),
			l.putIntent(record{Endpoint: heddle.Endpoint{ID: id, Network: "n1"}}, intentDefault),
			l.drop(heddle.Endpoint{ID: heddle.EndpointID{Container: "c0"}, Network: "n1",
				Addrs: []netip.Prefix{netip.PrefixFrom(addr, 24)}}, time.Now()),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return l
	}
	was, err := open(t).all()
	b := was.networkStates["n1"]
	if err != nil || len(was.endpoints) != 1 || was.intents[id.String()] != intentDefault || len(was.networks) != 1 ||
		b.cursors[heddle.IPv4] != addr || len(b.sources) != 1 || b.plan == nil || len(b.freed) != 1 {
		t.Fatalf("%+v, %v", was, err)
	}
	for _, c := range []struct {
		bucket []byte
		key    string
	}{
		{bucketNetworks, "n1"}, {bucketCursors, cursorKey("n1", heddle.IPv4)},
		{bucketCursors, sourceKey("n1", heddle.IPv4)},
		{bucketEndpoints, id.String()}, {bucketIntents, id.String()},
		{bucketQuarantine, string(addressKey("n1", addr))},
		{bucketLeases, "x"}, {bucketPools, "x"}, {bucketPlans, "n1"},
	} {
		t.Run(string(c.bucket)+" "+c.key, func(t *testing.T) {
			l := open(t)
			db := l.boot
			if onDisk := string(c.bucket); onDisk == "networks" || onDisk == "cursors" || onDisk == "leases" ||
				onDisk == "pools" {
				db = l.disk
			}
			// sealed for another key, like a record that was moved
			if err := put(db, c.bucket, c.key+"x", true, "test"); err != nil {
				t.Fatal(err)
			}
			move(t, db, c.bucket, c.key)
			was, err := l.all()
			if string(c.bucket) == "plans" {
				if err != nil || was.networkStates["n1"].plan != nil {
					t.Errorf("%+v, %v", was.networkStates, err)
				}
				return
			}
			if !errors.Is(err, heddle.LedgerBroken.Sentinel()) {
				t.Errorf("%v", err)
			}
		})
	}
}

// move puts the record of key+"x" under the key.
func move(t *testing.T, db *bbolt.DB, bucket []byte, key string) {
	t.Helper()
	err := db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		value := slices.Clone(b.Get([]byte(key + "x")))
		return errors.Join(b.Delete([]byte(key+"x")), b.Put([]byte(key), value))
	})
	if err != nil {
		t.Fatal(err)
	}
}
