// Package agent attaches and detaches endpoints, and keeps the host as its
// plans say. It is the only orchestrator: doors call it, and it calls the rooms
// below (ipam, modes, kernel), which know nothing of each other.
//
// Every operation is one straight sequence: validate, lock the id, take addresses, plan,
// record the intent, make, record the outcome. After a crash, the agent undoes the
// intents that are left over, because no caller got an answer.
package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
)

// Agent is one host's agent.
type Agent struct {
	opt            Options
	log            *slog.Logger
	kernel         Machine
	otherFirewalls *otherFirewalls
	ledger         *ledger
	lock           *os.File
	started        time.Time
	trip           tripwire
	host           *hostView
	wanted         *wantedObjects
	ports          *ports
	records        *records
	quarantine     *quarantine
	removals       *removals
	networks       *register
	defaults       *defaults
	nics           *nics
	plugs          *plugs
	hostPaths      *hostPaths
	policies       *policies
	havips         *havips
	routes         *vpcRoutes
	problems       *problems
	trials         *trials
	modes          modes
	shows          shows
	blocks         *blocks
	reservations   *reservations
	flows          *flows
	holds          *holds
	containers     *containers
	lanDevices     *lanDevices
	dhcp           *dhcpLeases
	handovers      *handovers
	plans          *plans
	repairer       *repairer
	names          *nameTables
	reporter       reporter
	endpointLocks  keyed[atIDs, heddle.EndpointID]
	// podLocks serializes attaches, and changes of the default route, of one container (by
	// the inode of its namespace).
	podLocks keyed[atPods, uint64]
	// batchTurns are taken by the endpoints of batches that are being attached.
	batchTurns chan struct{}
	// pings has a place for each ping that is under way.
	pings    chan struct{}
	ready    atomic.Bool
	activity activity
	metrics  *metrics
	stop     context.CancelFunc
	finished sync.WaitGroup

	// tasks lists the operations under way. followJobs follow the cluster's view, repairJobs do
	// the patrol's repairs.
	tasks                  *tasks
	followJobs, repairJobs *jobs
	// networkLocks serializes kernel changes for one network, by the network's ID.
	networkLocks keyed[atNetworkLock, string]
	linkLocks    linkLocks
	// viewLock is held while the cluster's newest view is adopted.
	viewLock mutex[atView]
	// adopted signals that the host has followed a new view. viewAgain asks the host to follow the
	// view once more. Both channels have a capacity of one.
	adopted, viewAgain chan struct{}
	// compared is closed when the host has been compared with its plans for the first time.
	compared <-chan struct{}
	// unpruned says that what no plan wants could not be removed at the start.
	unpruned atomic.Bool
	// compareSoon asks for a comparison with the plans; its capacity is one.
	compareSoon chan struct{}
	// peerPaths is what is known about the paths to other hosts; nil without a cluster.
	peerPaths *peerPaths
}

// Compared is closed when the agent has compared the host with its plans for the first time, has
// repaired what differed, and has removed what no plan wants, as far as it could; or when it is closed.
func (a *Agent) Compared() <-chan struct{} { return a.compared }

// New opens the ledger, finishes or undoes what the previous agent left unfinished, and begins to
// bring the kernel in line with the record (Compared).
func New(opt Options) (*Agent, error) {
	a := &Agent{opt: opt, log: opt.Log, started: time.Now(), trip: opt.Tripwire, modes: opt.Modes,
		wanted: newWantedObjects(), removals: newRemovals(),
		trials: newTrials(opt.Modes, opt.Untried), tasks: newTasks(), adopted: make(chan struct{}, 1),
		viewAgain: make(chan struct{}, 1), compareSoon: make(chan struct{}, 1), batchTurns: newBatchTurns(), pings: make(chan struct{}, maxPings)}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.ports = newPorts(func(p heddle.PortMapping) error { return a.kernel.Listen(p) })
	a.names = newNameTables()
	a.records = newRecords(a.wanted, a.names)
	a.reporter = reporter{&a.ready, events.NewLog()}
	a.networks, a.quarantine, a.problems = newRegister(a.wanted, a.reporter, a.names.again), newQuarantine(a.log), newProblems(a.log)
	a.metrics = newMetrics(a)
	a.followJobs, a.repairJobs = newJobs(a.tasks, &a.finished), newJobs(a.tasks, &a.finished)
	if err := a.open(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := a.recover(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.stop = cancel
	if err := a.watch(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.finished.Go(func() { a.names.follow(ctx) })
	if a.opt.Resolver != "" {
		a.finished.Go(func() { a.names.keepResolver(ctx) })
	} else {
		a.finished.Go(func() { a.names.endResolver(ctx) })
	}
	a.finished.Go(func() { a.watchNICs(ctx) })
	a.finished.Go(func() { a.retryQuarantine(ctx) })
	if a.opt.NICs != nil {
		a.finished.Go(func() { a.plugs.follow(ctx) })
		a.finished.Go(func() { a.plugs.watch(ctx) })
		a.finished.Go(func() { a.plugs.keepPools(ctx) })
	}
	a.ready.Store(true)
	a.finished.Go(func() { a.reportChanges(ctx) })
	a.finished.Go(func() { (&hung{log: a.log}).watch(ctx, a.tasks) })
	if a.opt.Cluster != nil {
		a.finished.Go(func() { a.opt.Cluster.Serve(ctx, a.blocks) })
		a.finished.Go(func() { a.follow(ctx) })
		a.finished.Go(func() { a.yieldBlocks(ctx) })
		a.finished.Go(func() { a.peerPaths.testChecksums(ctx) })
	}
	return a, nil
}
