package agent

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/dhcp"
)

func (a *Agent) open() (err error) {
	for _, dir := range []string{a.opt.StateDir, a.opt.RunDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return heddle.Wrap(heddle.LedgerFull, "make folder", dir, err,
				"give a folder that can be written with --state-dir or --run-dir")
		}
	}
	if a.lock, err = lockFolder(a.opt.RunDir); err != nil {
		return err
	}
	if err := a.openKernel(); err != nil {
		return err
	}
	a.removals.namespaces = a.kernel
	if a.host, err = openHostView(a.kernel, a.opt.Name, a.opt.Resolver != "", a.viewAgain); err != nil {
		return err
	}
	a.nics = &nics{host: a.host, quarantine: a.quarantine, byKey: map[string]heldNIC{}}
	a.hostPaths = &hostPaths{kernel: a.kernel, log: a.log, host: a.host, wanted: a.wanted, modes: a.modes}
	if a.ledger, err = openLedger(a.opt.StateDir, a.opt.RunDir, a.host.now().BootID); err != nil {
		return err
	}
	a.policies = &policies{kernel: a.kernel, log: a.log, trip: a.trip, ledger: a.ledger, networks: a.networks, records: a.records,
		wanted: a.wanted, problems: a.problems, refused: newRefused(a.kernel, a.trials.tryPacketLog, a.compareSoon)}
	a.havips = &havips{kernel: a.kernel, listener: a.kernel, log: a.log, trip: a.trip, ledger: a.ledger, networks: a.networks, records: a.records,
		policies: a.policies, wanted: a.wanted, problems: a.problems, background: &a.finished, ears: map[string]*ear{}, stop: make(chan struct{})}
	a.policies.havips = a.havips
	a.blocks = &blocks{cluster: a.opt.Cluster, ledger: a.ledger, log: a.log, host: a.host, networks: a.networks,
		records: a.records, ready: &a.ready, viewAgain: a.viewAgain,
		lent: map[heddle.Pin]bool{}, moving: map[heddle.Pin]bool{}, yielding: map[heddle.Block]bool{},
		idle: map[heddle.Block]time.Time{}}
	a.reservations = &reservations{cluster: a.opt.Cluster, kernel: a.kernel, ledger: a.ledger, log: a.log, trip: a.trip,
		host: a.host, networks: a.networks,
		records: a.records, removals: a.removals, blocks: a.blocks, leaseLimit: a.opt.LeaseTime,
		returned: map[string][]returnedAddr{}}
	a.names.dir, a.names.resolver, a.names.cluster, a.names.log = filepath.Join(a.opt.RunDir, namesDir), a.opt.Resolver, a.opt.Cluster, a.log
	a.names.networks, a.names.records, a.names.forwards = a.networks, a.records, a.opt.Forwards
	a.flows = &flows{kernel: a.kernel, log: a.log, records: a.records, ports: a.ports, background: &a.finished}
	a.routes = &vpcRoutes{kernel: a.kernel, log: a.log, trip: a.trip, ledger: a.ledger, networks: a.networks, records: a.records, wanted: a.wanted, problems: a.problems, flows: a.flows}
	a.reservations.routes = a.routes
	a.holds = &holds{namespaces: a.kernel, lost: a.kernel, log: a.log, trip: a.trip, records: a.records,
		runDir: a.opt.RunDir, root: a.opt.Root}
	a.plugs = &plugs{provider: a.opt.NICs, kernel: a.kernel, host: a.host, lookout: newLookout(a.host), plugging: newTurns(), unplugging: newTurns(), holds: a.holds, networks: a.networks, records: a.records, ledger: a.ledger, modes: a.modes, log: a.log, trip: a.trip,
		soon: make(chan struct{}, 1), fill: make(chan struct{}, 1), wanted: map[string]heddle.MAC{}, left: map[string]heddle.MAC{}, suspect: map[string]bool{}, pools: map[string]*nicPool{}}
	a.plugs.parents = &parents{plugs: a.plugs, pools: map[string]*parentPool{}}
	a.plugs.putBack, a.plugs.settle, a.plugs.relimit, a.plugs.prune = a.putBackNIC, a.settleMove, a.relimitNIC, a.pruneAtStart
	a.holds.plugged, a.holds.unsure = a.plugs.has, a.plugs.unsure
	a.containers = &containers{namespaces: a.kernel, linkEnds: a.kernel, lost: a.kernel, log: a.log, records: a.records,
		removals: a.removals, holds: a.holds}
	a.dhcp = &dhcpLeases{kernel: a.kernel, host: a.host, records: a.records, containers: a.containers, follow: a.followLease,
		clients: map[string]*dhcp.Client{}, of: map[heddle.EndpointID]*dhcp.Client{}, ahead: map[heddle.EndpointID]time.Time{},
		taken: map[heddle.EndpointID]time.Time{}, unsure: map[heddle.EndpointID]bool{}, failed: map[heddle.EndpointID]string{}}
	a.lanDevices = &lanDevices{dhcp: a.dhcp, kernel: a.kernel, ledger: a.ledger, log: a.log, networks: a.networks,
		records: a.records, endpointLocks: &a.endpointLocks}
	a.defaults = &defaults{kernel: a.kernel, ledger: a.ledger, log: a.log, trip: a.trip, host: a.host,
		networks: a.networks, records: a.records,
		containers: a.containers, podLocks: &a.podLocks, endpointLocks: &a.endpointLocks,
		holders: map[uint64]heddle.EndpointID{}, unsettled: map[uint64]unsettledRoute{}}
	a.handovers = &handovers{kernel: a.kernel, namespaces: a.kernel, ledger: a.ledger, log: a.log, trip: a.trip,
		host: a.host, networks: a.networks, records: a.records,
		containers: a.containers, holds: a.holds, lanDevices: a.lanDevices, linkLocks: &a.linkLocks,
		activity: &a.activity, repairJobs: a.repairJobs, endpointLocks: &a.endpointLocks}
	a.plans = &plans{kernel: a.kernel, networks: a.networks, records: a.records, hostPaths: a.hostPaths,
		policies: a.policies, havips: a.havips, routes: a.routes, wanted: a.wanted}
	a.repairer = &repairer{kernel: a.kernel, namespaces: a.kernel, log: a.log, otherFirewalls: a.otherFirewalls,
		networks: a.networks, records: a.records, hostPaths: a.hostPaths, policies: a.policies, havips: a.havips, routes: a.routes, plans: a.plans,
		problems: a.problems, handovers: a.handovers, linkLocks: &a.linkLocks, networkLocks: &a.networkLocks,
		endpointLocks: &a.endpointLocks, jobs: a.repairJobs}
	return nil
}

// openKernel opens the host's kernel, with hooks by which it asks the agent what plans want.
func (a *Agent) openKernel() (err error) {
	open := a.opt.Machine
	if open == nil {
		open = openMachine
	}
	a.kernel, err = open(Hooks{Tripwire: a.opt.Tripwire, Wanted: a.wanted.plansFor, GivenAway: a.records.givenNICs, Lost: func(nic, what string) {
		a.log.Warn("a container has taken something off a NIC: put it back yourself", "nic", nic, "lost", what)
	}})
	if err != nil {
		return err
	}
	a.otherFirewalls = &otherFirewalls{Firewalls: a.kernel.Firewalls, log: a.log, networks: a.networks}
	if a.opt.NoFastPath {
		return a.kernel.SwitchOffFastPath()
	}
	return nil
}

// forkTime is how long a forked child may take to execute its program.
const forkTime = 3 * time.Second

func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, heddle.Wrap(heddle.LedgerFull, "open the lock file", path, err,
			"give a folder that can be written with --run-dir")
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	// a child that a killed agent has just forked (for iptables-legacy) holds the lock until it
	// executes its program
	for end := time.Now().Add(forkTime); errors.Is(err, unix.EWOULDBLOCK) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(heddle.Wrap(heddle.AgentRuns, "lock the run folder with", path, err,
			"stop the agent that has locked it, or use other folders (--run-dir, --state-dir)"), f.Close())
	}
	return f, nil
}

// Close ends the agent. Endpoints and their traffic stay.
func (a *Agent) Close() error {
	a.ready.Store(false)
	if a.stop != nil {
		a.stop()
	}
	if a.dhcp != nil {
		a.dhcp.close()
	}
	if a.havips != nil {
		a.havips.close()
	}
	a.followJobs.close()
	a.repairJobs.close()
	a.removals.startAll()
	a.finished.Wait()
	var errs []error
	if a.policies != nil {
		errs = append(errs, a.policies.close())
	}
	if a.peerPaths != nil {
		a.peerPaths.Close()
	}
	if a.ledger != nil {
		a.saveCursors()
		errs = append(errs, a.ledger.close())
	}
	if a.otherFirewalls != nil {
		errs = append(errs, a.otherFirewalls.Close())
	}
	if a.kernel.Close != nil {
		errs = append(errs, a.kernel.Close())
	}
	if a.lock != nil {
		errs = append(errs, a.lock.Close())
	}
	return errors.Join(errs...)
}
