package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/path"
	"github.com/heddle-network/heddle/store"
)

// Cluster is one host's part in a cluster.
type Cluster struct {
	o      Options
	run    string          // this process's, in the host's record
	ctx    context.Context // ends with the cluster
	cancel context.CancelFunc
	ended  sync.WaitGroup

	view    atomic.Pointer[View]
	changed chan struct{}
	// pending wakes reconcile, fenceLost wakes keepFence, namesPending wakes publishNames.
	pending, fenceLost, namesPending chan struct{}
	namesChanged                     chan struct{}

	mu sync.Mutex
	// updated is closed, and made anew, whenever something below has changed.
	updated chan struct{}
	memory  memory
	// record is the store as last seen; accepted is set if it is our cluster's.
	record     record
	accepted   bool
	wrongStore error
	duplicate  error // another agent is this host; it stays
	// fence is the revision of this host's own record: every change requires it. 0: it is
	// not known, or it has to be renewed before anything else.
	fence          int64
	introduceError error // why the host could not write its record yet
	// These are operations under way.
	yielding  map[blockID]bool
	claiming  map[blockID]bool
	creating  map[string]bool
	borrowing map[netAddr]bool
	sending   map[netAddr]bool
	movesSeen map[string]time.Time // answers with moves, and when they were first seen
	// movesTaken are answers of this host whose move was taken up, with the answers' revisions.
	movesTaken map[string]int64
	lender     Lender
	lending    sync.Mutex // held while the lender is called
	unsaved    bool       // the record has changes that are not on the disk yet
	// names has the names in the store, own those of this host; judged is what Names has returned
	// last for each network. views counts the changes of the view.
	names  nameTable
	own    ownNames
	judged map[string]judgedNames
	views  uint64
}

var _ API = (*Cluster)(nil)

// Open joins the cluster that is in the store, or creates it. It waits for the store at
// most Options.Wait. After that, a host that remembers the cluster goes on with what it
// remembers; the view tells Removed and Strange. Closing the cluster does not close the
// store.
func Open(ctx context.Context, o Options) (*Cluster, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MoveTime == 0 {
		o.MoveTime = 10 * time.Minute
	}
	if o.Port == 0 {
		o.Port = path.Default().Port()
	}
	if err := CheckRanges(o.Ranges); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
		return nil, heddle.Wrap(heddle.LedgerFull, "make folder", o.StateDir, err,
			"name another folder with --state-dir")
	}
	m, err := loadMemory(o.StateDir)
	if err != nil {
		return nil, err
	}
	if err := m.identify(&o); err != nil {
		return nil, err
	}
	c := &Cluster{o: o, run: randomID(), changed: make(chan struct{}, 1), pending: make(chan struct{}, 1), fenceLost: make(chan struct{}, 1),
		namesPending: make(chan struct{}, 1), namesChanged: make(chan struct{}, 1), updated: make(chan struct{}), memory: m,
		yielding: map[blockID]bool{}, claiming: map[blockID]bool{}, creating: map[string]bool{}, borrowing: map[netAddr]bool{}, sending: map[netAddr]bool{}, movesSeen: map[string]time.Time{}, movesTaken: map[string]int64{},
		own: ownNames{byNetwork: map[string]map[string]nameRecord{}, open: map[string]bool{}}, judged: map[string]judgedNames{}}
	if why := checkHost(o.Self.Name, &hostRecord{o.Self, c.run}); why != "" {
		return nil, heddle.Errorf(heddle.BadAddress, "join cluster as host", o.Self.Name,
			"no host would accept its record: "+why, "change the host's name or addresses with --name and --underlay")
	}
	c.record = record{self: o.Self.Name, fits: o.Fits, knownPeers: m.Last.Peers, acceptedBefore: map[string]bool{}, lastNames: map[string]string{}}
	for _, n := range m.Last.Networks {
		c.record.acceptedBefore[n.ID], c.record.lastNames[n.ID] = true, n.Name
	}
	if err := saveMemory(o.StateDir, m); err != nil {
		return nil, err
	}
	c.view.Store(viewFromMemory(m))
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.ended.Go(func() { c.follow(c.ctx) })
	c.ended.Go(func() { c.keepFence(c.ctx) })
	c.ended.Go(func() { c.reconcile(c.ctx) })
	c.ended.Go(func() { c.publishNames(c.ctx) })
	if err := c.awaitIntroduction(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// identify combines the host's identity from the options and from its memory.
func (m *memory) identify(o *Options) error {
	id, joined, name := m.Host.ID, m.Host.Joined, m.Host.Name
	if o.Self.ID == "" {
		o.Self.ID = id
	}
	if o.Self.ID == "" {
		o.Self.ID = randomID()
	}
	if m.Introduced && (o.Self.ID != id || o.Self.Name != name) {
		return heddle.Errorf(heddle.HostExists, "join cluster as host", o.Self.Name+" with ID "+o.Self.ID,
			memoryPath(o.StateDir)+" is of host "+name+" with ID "+id+", and a host keeps its name in a cluster",
			"start the agent with --name "+name+"; to begin anew, remove that host ('heddle host remove "+name+"') and move the state folder away")
	}
	if !joined.IsZero() {
		o.Self.Joined = joined
	} else if o.Self.Joined.IsZero() {
		o.Self.Joined = o.Now().UTC()
	}
	m.Host = o.Self
	return nil
}

func randomID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// awaitIntroduction waits until the host has written its record, or never will.
func (c *Cluster) awaitIntroduction(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Wait)
	defer cancel()
	go c.endIfRefused(ctx, cancel)
	err := c.await(ctx, func() bool {
		return c.fence != 0 || c.wrongStore != nil || errors.Is(c.introduceError, heddle.HostExists.Sentinel()) || c.isRemovedLocked()
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.memory.Introduced {
		return nil // the view says why
	}
	switch barred := c.cannotWriteLocked(); {
	case barred != nil:
		return barred
	case c.fence == 0 && c.introduceError != nil:
		return c.introduceError
	case err != nil && c.o.Store.Health().Refused:
		return heddle.Errorf(heddle.StoreRefused, "join cluster as host", c.o.Self.Name, c.o.Store.Health().Cause,
			"look at the certificates and the clocks here and on the store's servers")
	case err != nil:
		return heddle.Errorf(heddle.StoreDown, "join cluster as host", c.o.Self.Name, "the store did not answer within "+c.o.Wait.String()+": "+c.o.Store.Health().Cause,
			"look at the store's servers and at the network to them")
	}
	return nil
}

// refusedWait is how long Open waits for a store that refuses this host: a certificate may become valid a
// moment later.
const refusedWait = 5 * time.Second

// endIfRefused calls end when the store has refused this host for a while.
func (c *Cluster) endIfRefused(ctx context.Context, end func()) {
	for since := time.Now(); time.Since(since) < refusedWait; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
		if !c.o.Store.Health().Refused {
			since = time.Now()
		}
	}
	end()
}

// View returns the cluster as last seen.
func (c *Cluster) View() *View { return c.view.Load() }

// Changed receives after the view has changed.
func (c *Cluster) Changed() <-chan struct{} { return c.changed }

// Health returns the store's.
func (c *Cluster) Health() store.Health { return c.o.Store.Health() }

// Close ends the host's part. The host keeps what it holds.
func (c *Cluster) Close() error {
	c.cancel()
	c.ended.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.unsaved {
		return nil
	}
	return c.updateMemoryLocked(func(m *memory) {})
}
