package agent

import (
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// TestClearWay: a pool that its engine has forgotten is in nobody's way for long.
func TestClearWay(t *testing.T) {
	l, err := openLedger(t.TempDir(), t.TempDir(), "boot")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	a := &books{ledger: l, networks: newRegister(newWants(), teller{}), roll: newRoll(newWants()), log: slog.New(slog.DiscardHandler), leases: map[string]Lease{}, subnets: map[string]Pool{}, given: map[string][]given{}}
	prefix := netip.MustParsePrefix
	put := func(p Pool, age time.Duration) {
		t.Helper()
		p.Asked = time.Now().Add(-age)
		if err := l.putPool(p); err != nil {
			t.Fatal(err)
		}
		a.subnets[p.ID] = p
	}
	old, other := newPool(prefix("10.9.0.0/24"), prefix("10.9.0.128/25")), newPool(prefix("10.8.0.0/24"), netip.Prefix{})
	put(old, wayTime+time.Second)
	put(other, wayTime+time.Second)
	a.given[old.ID] = []given{{old.Subnet.Addr(), time.Now()}}
	if err := a.keepLeaseLocked(Lease{Pool: old.ID, Addr: old.Gateway}); err != nil {
		t.Fatal(err)
	}
	young := newPool(prefix("10.9.1.0/24"), netip.Prefix{})
	put(young, 0)
	whole := newPool(prefix("10.9.0.0/16"), netip.Prefix{})
	if err := a.clearWayLocked(whole); !errors.Is(err, heddle.SubnetOverlap.Sentinel()) || len(a.subnets) != 3 || len(a.leases) != 1 {
		t.Errorf("with one asked for just now: %v, left %v, %v", err, a.subnets, a.leases)
	}
	put(young, wayTime+time.Second)
	a.networks.put(&network{Network: heddle.Network{Name: "net", Subnets: []netip.Prefix{young.Subnet}}})
	if err := a.clearWayLocked(whole); !errors.Is(err, heddle.SubnetOverlap.Sentinel()) || len(a.subnets) != 3 {
		t.Errorf("with one that has a network: %v, left %v", err, a.subnets)
	}
	a.networks = newRegister(newWants(), teller{})
	if err := a.clearWayLocked(whole); err != nil {
		t.Error(err)
	}
	leases, pools, err := l.leases()
	if err != nil || len(pools) != 1 || pools[other.ID].ID != other.ID || len(leases) > 0 || len(a.leases) > 0 || len(a.given) > 0 {
		t.Errorf("left %v, %v, %v, %v", pools, leases, a.given, err)
	}
}
