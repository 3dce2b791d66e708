// Package agent attaches and detaches endpoints, and keeps the host as its
// plans say. It is the only orchestrator: doors call it, and it calls the rooms
// below (ipam, modes, kernel), which know nothing of each other.
//
// Every operation is straight: validate, lock the id, take addresses, plan,
// record the intent, make, record the outcome. After a crash the intents left
// over are undone, since nobody got an answer.
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
	opt        Options
	log        *slog.Logger
	kernel     Machine
	gates      *gates
	ledger     *ledger
	lock       *os.File
	started    time.Time
	trip       tripwire
	host       *hostView
	wants      *wants
	ports      *ports
	roll       *roll
	quarantine *quarantine
	departures *departures
	networks   *register
	defaults   *defaults
	nics       *nics
	ways       *ways
	troubles   *troubles
	trials     *trials
	modes      modes
	shows      shows
	blocks     *blocks
	books      *books
	flows      *flows
	holds      *holds
	containers *containers
	tenures    *tenures
	handovers  *handovers
	plans      *plans
	mender     *mender
	teller     teller
	ids        keyed[atIDs, heddle.EndpointID]
	// pods lets one container be attached to a network at a time (by the inode of
	// its namespace).
	pods     keyed[atPods, uint64]
	ready    atomic.Bool
	activity activity
	metrics  *metrics
	stop     context.CancelFunc
	finished sync.WaitGroup

	// tasks are what is being done; following has what the cluster's view asks for,
	// mending what the patrol does.
	tasks              *tasks
	following, mending *errands
	// works lets one at a time have the kernel work for a network, by its ID.
	works keyed[atWorks, string]
	links links
	// seeing lets one at a time take up the cluster's newest view.
	seeing mutex[atSeeing]
	// adopted says that the host followed a new view; it has room for one, as has
	// lookAgain, which asks it to look once more.
	adopted, lookAgain chan struct{}
	// compareSoon asks for a comparison with the plans; it has room for one.
	compareSoon chan struct{}
	// paths is what is known about the ways to other hosts; nil without a cluster.
	paths *paths
}

// New opens the ledger, finishes what an earlier life left undone, and brings
// the kernel in line with the record.
func New(opt Options) (*Agent, error) {
	a := &Agent{opt: opt, log: opt.Log, started: time.Now(), trip: opt.Tripwire, modes: opt.Modes,
		wants: newWants(), ports: newPorts(), departures: newDepartures(),
		trials: newTrials(opt.Modes, opt.Untried), tasks: newTasks(), adopted: make(chan struct{}, 1), lookAgain: make(chan struct{}, 1), compareSoon: make(chan struct{}, 1)}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.roll = newRoll(a.wants)
	a.teller = teller{&a.ready, events.NewLog()}
	a.networks, a.quarantine, a.troubles = newRegister(a.wants, a.teller), newQuarantine(a.log), newTroubles(a.log)
	a.metrics = newMetrics(a)
	a.following, a.mending = newErrands(a.tasks, &a.finished), newErrands(a.tasks, &a.finished)
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
	a.finished.Go(func() { a.vigil(ctx) })
	a.finished.Go(func() { a.keepQuarantine(ctx) })
	a.ready.Store(true)
	a.finished.Go(func() { a.witness(ctx) })
	if a.opt.Cluster != nil {
		a.finished.Go(func() { a.opt.Cluster.Serve(ctx, a.blocks) })
		a.finished.Go(func() { a.follow(ctx) })
		a.finished.Go(func() { a.tend(ctx) })
		a.finished.Go(func() { a.paths.testChecksums(ctx) })
	}
	return a, nil
}
