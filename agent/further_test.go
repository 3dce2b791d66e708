package agent

import (
	"log/slog"
	"net/netip"
	"sync"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// forgetting is a host without connections.
type forgetting struct{ Connections }

func (forgetting) ForgetAddresses([]netip.Addr) error { return nil }

// giving is a pool that calls given before an address is free.
type giving struct {
	ipam.Source
	given func()
}

func (g giving) Give(id heddle.EndpointID) []netip.Addr {
	g.given()
	return g.Source.Give(id)
}

// TestEndFurther: when further addresses are free, their connections are being forgotten already: who gets one waits for that.
func TestEndFurther(t *testing.T) {
	ledger, err := openLedger(t.TempDir(), t.TempDir(), "boot")
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.close()
	var background sync.WaitGroup
	defer background.Wait()
	log := slog.New(slog.DiscardHandler)
	a := &Agent{ledger: ledger, log: log, blocks: &blocks{}, flows: &flows{kernel: forgetting{}, log: log, background: &background}}
	defer a.flows.listing.Unlock()
	a.flows.listing.Lock() // nothing is forgotten yet
	n := &network{Network: heddle.Network{ID: "id", Name: "net", Subnets: netPrefixes("10.0.0.0/24")}}
	e := heddle.Endpoint{ID: containerID("vm")}
	pool, freed := ipam.NewPool(n.Network), 0
	n.pool = giving{pool, func() {
		freed++
		if next := a.flows.old.next; next == nil || len(next.addrs) != 2 {
			t.Error("an address is free while connections of its last endpoint are there")
		}
	}}
	for number := range 2 {
		addrs, err := pool.Take(e.ID.FurtherID(number), nil)
		if err != nil {
			t.Fatal(err)
		}
		e.Further = append(e.Further, heddle.AddressSet{Number: number, Addrs: addrs})
	}
	a.endFurther(n, e, heddle.Endpoint{ID: e.ID})
	resting, err := ledger.quarantined("id")
	if freed != 2 || len(pool.Held()) > 0 || len(resting) != 2 || err != nil {
		t.Errorf("%d freed, held %v, in quarantine %v, %v", freed, pool.Held(), resting, err)
	}
}
