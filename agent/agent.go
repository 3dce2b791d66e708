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
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/ipam"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/trial"
)

// Options of an agent.
type Options struct {
	// Name of the host; the system's host name if empty.
	Name string
	// StateDir survives a reboot, RunDir need not.
	StateDir, RunDir string
	Modes            []heddle.Mode
	// Cluster is what the hosts agree on; nil for a host alone.
	Cluster cluster.API
	// Alone says that the host has left the cluster that it had, if any: networks of
	// several hosts become its own.
	Alone bool
	Log   *slog.Logger
	// Root is the folder below which NIC managers have their runtime files; "/"
	// if empty.
	Root string
	// LeaseTime is how long an address stays leased that no endpoint has; two minutes
	// if 0.
	LeaseTime time.Duration
	// Patrol is how often the host is compared with the plans when no event came; if 0,
	// every five seconds, and less often where comparing takes long. Tests set it.
	Patrol time.Duration
	// Untried skips the trial of a mode before its first network is made: for a
	// kernel on which the modes are known to work.
	Untried bool
	// NoFastPath has all packets take the host's stack.
	NoFastPath bool
	// Tripwire is called before every step that changes something; an error
	// from it stops the operation there. Tests set it.
	Tripwire func(step string) error
}

// Agent is one host's agent.
type Agent struct {
	opt     Options
	log     *slog.Logger
	kernel  *kernel.Kernel
	coexist *kernel.Coexist
	ledger  *ledger
	lock    *os.File
	started time.Time
	ids     KeyedLocks[heddle.EndpointID]
	// pods lets one container be attached to a network at a time (by the inode of
	// its namespace); it is taken before ids.
	pods    KeyedLocks[uint64]
	ready   atomic.Bool
	repairs atomic.Uint64
	// working counts our own operations under way, worked is when the last one
	// ended (Unix nanoseconds).
	working  atomic.Int64
	worked   atomic.Int64
	metrics  *metrics
	stop     context.CancelFunc
	finished sync.WaitGroup

	// tasks are what is being done; following has what the cluster's view asks for,
	// mending what the patrol does.
	tasks              *tasks
	following, mending *errands
	// works lets one at a time have the kernel work for a network, by its ID.
	works KeyedLocks[string]
	// links lets one at a time make or remove a link that several plans want, by name.
	links KeyedLocks[string]
	// reaching is held while the ways to other hosts change.
	reaching sync.Mutex
	// seeing lets one at a time take up the cluster's newest view.
	seeing sync.Mutex
	// trying lets one at a time try out a mode.
	trying KeyedLocks[trial.Case]

	// forgetting lets one look at all connections of the host at a time.
	forgetting sync.Mutex
	old        oldFlows

	// mu guards the tables below; it is never held while the kernel works.
	mu    sync.RWMutex
	facts heddle.HostFacts
	// clear are the host's sockets by whose ports no masqueraded connection leaves.
	clear    []heddle.Socket
	networks map[string]*network // by name
	// underway are the networks, by ID, that are being made, renamed or removed.
	underway map[string]*underway
	// changes counts what came into and went from networks and underway.
	changes uint64
	// tried holds what was found to work on this kernel.
	tried     map[trial.Case]bool
	endpoints map[heddle.EndpointID]record
	pending   map[heddle.EndpointID]string
	// quarantine says why endpoints that were detached are kept.
	quarantine map[heddle.EndpointID]string
	// departures are the endpoints that Leave is about to remove.
	departures map[heddle.EndpointID]*departure
	wanted     wanted
	// counted says whose plans wanted counts, so that none counts twice.
	counted map[heddle.EndpointID]bool
	ports   portTable
	// defaults names, for each container's namespace (by inode), the endpoint
	// with its default route.
	defaults map[uint64]heddle.EndpointID
	// inPods lists the endpoints in each container's namespace (by inode).
	inPods map[uint64]map[heddle.EndpointID]bool
	// reach is the plan of what shared networks need to reach other hosts; only who
	// holds reaching changes it. left are plans that it was before, of which not all is
	// removed yet. reachError is why it could not be made.
	reach      heddle.Plan
	left       []heddle.Plan
	reachError error
	// adopted says that the host followed a new view; it has room for one, as has
	// lookAgain, which asks it to look once more.
	adopted, lookAgain chan struct{}
	// compareSoon asks for a comparison with the plans; it has room for one.
	compareSoon chan struct{}
	// news says that networks came, changed or went; it has room for one.
	news chan struct{}
	// misfits are hosts of the cluster that cannot be this one's peers.
	misfits []cluster.Refusal
	// stuck says of what, by owner, not all could be put right.
	stuck map[string]string
	// unfit are the networks of the cluster, by ID, that are not on this host.
	unfit map[string]unfit
	// lonely says which networks of this host the cluster did not take, and why.
	lonely map[string]error

	// pools is held while the blocks of shared networks change, and while
	// addresses of them are taken; it guards what follows.
	pools sync.Mutex
	// sources are the addresses of shared networks that the host keeps for itself.
	sources []heddle.Pin
	// lent are addresses set aside for other hosts, which the view may not show
	// yet, yielding blocks that are about to be given back.
	lent map[heddle.Pin]bool
	// moving are addresses of endpoints that are about to be sent elsewhere.
	moving   map[heddle.Pin]bool
	yielding map[heddle.Block]bool
	// idle says since when a block has been of no use.
	idle map[heddle.Block]time.Time

	// leaseOps guards leases and subnets, with their records on the disk. Pools and mu
	// may be taken while it is held.
	leaseOps sync.Mutex
	// leases are set aside for endpoints to come, subnets for networks to come.
	leases  map[string]Lease
	subnets map[string]Pool
	// given are the addresses that were given back last, by pool.
	given map[string][]given

	// paths is what is known about the ways to other hosts; nil without a cluster.
	paths *paths

	// shows are parts of the status that others know about.
	shows []func() heddle.PartStatus

	// nics names, by name on the host and MAC address, the NICs that endpoints have.
	nics map[string]heldNIC
}

// network is a network with what belongs to it on this host. Readers get copies
// of it; what changes with every endpoint is behind pointers.
type network struct {
	heddle.Network
	mode heddle.Mode
	plan heddle.Plan
	// unplanned is why the network has no plan: its parent is not there (yet).
	unplanned error
	pool      *ipam.Pool
	// slots marks the ordinals in use.
	slots *slots
	macs  map[heddle.MAC]heddle.EndpointID
	life  *life
}

// life is held for reading while endpoints are made, for writing while their
// network is deleted.
type life struct {
	sync.RWMutex
	gone bool
}

// New opens the ledger, finishes what an earlier life left undone, and brings
// the kernel in line with the record.
func New(opt Options) (*Agent, error) {
	a := &Agent{opt: opt, log: opt.Log, started: time.Now(),
		networks: map[string]*network{}, endpoints: map[heddle.EndpointID]record{}, pending: map[heddle.EndpointID]string{}, quarantine: map[heddle.EndpointID]string{}, departures: map[heddle.EndpointID]*departure{},
		wanted: wanted{}, counted: map[heddle.EndpointID]bool{}, ports: portTable{}, defaults: map[uint64]heddle.EndpointID{},
		inPods: map[uint64]map[heddle.EndpointID]bool{}, nics: map[string]heldNIC{}, tried: map[trial.Case]bool{},
		underway: map[string]*underway{}, stuck: map[string]string{}, unfit: map[string]unfit{}, tasks: newTasks(), adopted: make(chan struct{}, 1), lookAgain: make(chan struct{}, 1), compareSoon: make(chan struct{}, 1), news: make(chan struct{}, 1), lent: map[heddle.Pin]bool{}, moving: map[heddle.Pin]bool{}, yielding: map[heddle.Block]bool{}, idle: map[heddle.Block]time.Time{}, lonely: map[string]error{}, leases: map[string]Lease{}, subnets: map[string]Pool{}, given: map[string][]given{}}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
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
	if a.opt.Cluster != nil {
		a.finished.Go(func() { a.opt.Cluster.Serve(ctx, lender{a}) })
		a.finished.Go(func() { a.follow(ctx) })
		a.finished.Go(func() { a.tend(ctx) })
		a.finished.Go(func() { a.testChecksums(ctx) })
	}
	return a, nil
}

func (a *Agent) open() (err error) {
	for _, dir := range []string{a.opt.StateDir, a.opt.RunDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return heddle.Wrap(heddle.LedgerFull, "make folder", dir, err, "give a folder that can be written with --state-dir or --run-dir")
		}
	}
	if a.lock, err = lockFolder(a.opt.RunDir); err != nil {
		return err
	}
	if a.kernel, err = kernel.Open(); err != nil {
		return err
	}
	a.kernel.Tripwire, a.kernel.Wanted, a.kernel.GivenAway = a.opt.Tripwire, a.wantedBy, a.givenAway
	if a.opt.NoFastPath {
		if err := a.kernel.SwitchOffFastPath(); err != nil {
			return err
		}
	}
	if a.coexist, err = kernel.NewCoexist(); err != nil {
		return err
	}
	if a.facts, err = a.kernel.Facts(); err != nil {
		return err
	}
	a.clear = a.facts.Listening
	if a.opt.Name != "" {
		a.facts.Name = a.opt.Name
	}
	a.ledger, err = openLedger(a.opt.StateDir, a.opt.RunDir, a.facts.BootID)
	return err
}

// forkTime is how long a forked child may take to become another program.
const forkTime = 3 * time.Second

func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, heddle.Wrap(heddle.LedgerFull, "open lock", path, err, "give a folder that can be written with --run-dir")
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	// a child that a killed agent had just forked (iptables-legacy) holds the
	// lock until it has become that program
	for end := time.Now().Add(forkTime); errors.Is(err, unix.EWOULDBLOCK) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(heddle.Wrap(heddle.AgentRuns, "lock", path, err, "stop the other agent, or use other folders"), f.Close())
	}
	return f, nil
}

// Close ends the agent. Endpoints and their traffic stay.
func (a *Agent) Close() error {
	a.ready.Store(false)
	if a.stop != nil {
		a.stop()
	}
	a.following.close()
	a.mending.close()
	a.hurryDepartures()
	a.finished.Wait()
	var errs []error
	if a.paths != nil {
		a.paths.Close()
	}
	if a.ledger != nil {
		a.saveCursors()
		errs = append(errs, a.ledger.close())
	}
	if a.coexist != nil {
		errs = append(errs, a.coexist.Close())
	}
	if a.kernel != nil {
		errs = append(errs, a.kernel.Close())
	}
	if a.lock != nil {
		errs = append(errs, a.lock.Close())
	}
	return errors.Join(errs...)
}

func (a *Agent) step(name string) error {
	if a.opt.Tripwire == nil {
		return nil
	}
	return a.opt.Tripwire(name)
}

func (a *Agent) mode(name string) (heddle.Mode, error) {
	names := []string{}
	for _, m := range a.opt.Modes {
		if m.Name() == name {
			return m, nil
		}
		names = append(names, m.Name())
	}
	return nil, heddle.Errorf(heddle.UnknownMode, "mode", fmt.Sprintf("%q", name), fmt.Sprintf("this agent has %v", names))
}

// Modes lists the modes the agent has.
func (a *Agent) Modes() []string {
	var names []string
	for _, m := range a.opt.Modes {
		names = append(names, m.Name())
	}
	return names
}

// network returns a copy of the record of the network with the name, or else with
// the ID: doors whose networks are renamed call them by that.
func (a *Agent) network(name string) (*network, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	n, ok := a.networks[name]
	if !ok {
		n = a.networkHeld(name)
	}
	if n == nil {
		return nil, noNetwork(name)
	}
	c := *n
	return &c, nil
}

// networkFor returns a copy of the record of an endpoint's network, whatever it is
// called by now.
func (a *Agent) networkFor(e heddle.Endpoint) (*network, error) {
	if n := a.networkByID(e.Network); n != nil {
		return n, nil
	}
	return nil, noNetwork(e.NetworkName)
}

// networkByID returns a copy of a network's record, nil if there is none.
func (a *Agent) networkByID(id string) *network {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if n := a.networkHeld(id); n != nil {
		c := *n
		return &c
	}
	return nil
}

// networkHeld is the record itself, nil if there is none. The caller holds mu.
func (a *Agent) networkHeld(id string) *network {
	for _, n := range a.networks {
		if n.ID == id {
			return n
		}
	}
	return nil
}

func noNetwork(name string) error {
	return heddle.Errorf(heddle.NoNetwork, "network", fmt.Sprintf("%q", name), "'heddle network list' shows those there are")
}

// host returns what is known about the host.
func (a *Agent) host() heddle.HostFacts {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.facts
}
