package agent

import (
	"net/netip"
	"time"

	"go.etcd.io/bbolt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/vpcroute"
)

// ledgerContents is all that the ledger has when the agent starts.
type ledgerContents struct {
	endpoints     []record
	intents       map[string]string // endpoint id -> operation
	networks      []heddle.Network
	networkStates map[string]networkState // network id -> its state
	leases        map[string]Lease
	pools         map[string]Pool
	policies      policy.Policies
	havips        havip.All
	holders       havip.Holders // who holds them
	routes        vpcroute.Table
	unclaimed     bool // the kernel has objects of endpoints whose records are lost
}

// networkState is what is recorded about one network's addresses and plan.
type networkState struct {
	cursors map[heddle.Family]netip.Addr
	sources []netip.Addr // addresses that the host keeps for itself
	freed   map[netip.Addr]time.Time
	plan    *heddle.Plan // nil if it cannot be read: plans are computed again
}

// all reads the whole ledger. It fails if a record is broken.
func (l *ledger) all() (r ledgerContents, err error) {
	if r.endpoints, r.intents, err = l.endpoints(); err != nil {
		return r, err
	}
	if r.networks, err = l.networks(); err != nil {
		return r, err
	}
	if r.leases, r.pools, err = l.leases(); err != nil {
		return r, err
	}
	if r.policies, err = l.policies(); err != nil {
		return r, err
	}
	if r.havips, r.holders, err = l.havips(); err != nil {
		return r, err
	}
	if r.routes, err = l.routes(); err != nil {
		return r, err
	}
	r.networkStates = map[string]networkState{}
	for _, n := range r.networks {
		if r.networkStates[n.ID], err = l.networkState(n.ID); err != nil {
			return r, err
		}
	}
	r.unclaimed, err = l.unclaimed()
	return r, err
}

func (l *ledger) networkState(network string) (b networkState, err error) {
	if b.cursors, err = l.cursors(network); err != nil {
		return b, err
	}
	if b.sources, err = l.sources(network); err != nil {
		return b, err
	}
	if plan, known, err := l.plan(network); known && err == nil {
		b.plan = &plan
	}
	b.freed, err = l.quarantined(network)
	return b, err
}

func (l *ledger) unclaimed() (on bool, err error) {
	err = l.boot.View(func(tx *bbolt.Tx) error {
		on = tx.Bucket(bucketMeta).Get([]byte("unclaimed")) != nil
		return nil
	})
	return on, err
}
