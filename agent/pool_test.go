package agent

import (
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// TestAbandonedPool: a pool that its engine has forgotten does not block its subnet for long.
func TestAbandonedPool(t *testing.T) {
	l, err := openLedger(t.TempDir(), t.TempDir(), "boot")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	a := &reservations{ledger: l, networks: newRegister(newWantedObjects(), reporter{}, nil),
		records: newRecords(newWantedObjects(), newNameTables()), log: slog.New(slog.DiscardHandler), leases: map[string]Lease{},
		poolByID: map[string]Pool{}, returned: map[string][]returnedAddr{}}
	prefix := netip.MustParsePrefix
	put := func(p Pool, age time.Duration) {
		t.Helper()
		p.Asked = time.Now().Add(-age)
		if err := l.putPool(p); err != nil {
			t.Fatal(err)
		}
		a.poolByID[p.ID] = p
	}
	old, other := newPool(prefix("10.9.0.0/24"), prefix("10.9.0.128/25")),
		newPool(prefix("10.8.0.0/24"), netip.Prefix{})
	put(old, abandonedAfter+time.Second)
	put(other, abandonedAfter+time.Second)
	a.returned[old.ID] = []returnedAddr{{old.Subnet.Addr(), time.Now()}}
	if err := a.keepLeaseLocked(Lease{Pool: old.ID, Addr: old.Gateway}); err != nil {
		t.Fatal(err)
	}
	young := newPool(prefix("10.9.1.0/24"), netip.Prefix{})
	put(young, 0)
	whole := newPool(prefix("10.9.0.0/16"), netip.Prefix{})
	if err := a.removeAbandonedPoolsLocked(whole); !errors.Is(err, heddle.SubnetOverlap.Sentinel()) ||
		len(a.poolByID) != 3 || len(a.leases) != 1 {
		t.Errorf("with one asked for just now: %v, left %v, %v", err, a.poolByID, a.leases)
	}
	put(young, abandonedAfter+time.Second)
	a.networks.put(&network{Network: heddle.Network{Name: "net", Subnets: []netip.Prefix{young.Subnet}}})
	if err := a.removeAbandonedPoolsLocked(whole); !errors.Is(err, heddle.SubnetOverlap.Sentinel()) ||
		len(a.poolByID) != 3 {
		t.Errorf("with one that has a network: %v, left %v", err, a.poolByID)
	}
	a.networks = newRegister(newWantedObjects(), reporter{}, nil)
	if err := a.removeAbandonedPoolsLocked(whole); err != nil {
		t.Error(err)
	}
	leases, pools, err := l.leases()
	if err != nil || len(pools) != 1 || pools[other.ID].ID != other.ID || len(leases) > 0 || len(a.leases) > 0 ||
		len(a.returned) > 0 {
		t.Errorf("left %v, %v, %v, %v", pools, leases, a.returned, err)
	}
}
