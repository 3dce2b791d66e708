package agent

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

func (a *Agent) open() (err error) {
	for _, dir := range []string{a.opt.StateDir, a.opt.RunDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return heddle.Wrap(heddle.LedgerFull, "make folder", dir, err, "give a folder that can be written with --state-dir or --run-dir")
		}
	}
	if a.lock, err = lockFolder(a.opt.RunDir); err != nil {
		return err
	}
	if err := a.openKernel(); err != nil {
		return err
	}
	a.departures.namespaces = a.kernel
	if a.host, err = openHostView(a.kernel, a.opt.Name, a.lookAgain); err != nil {
		return err
	}
	a.nics = &nics{host: a.host, quarantine: a.quarantine, held: map[string]heldNIC{}}
	a.ways = &ways{kernel: a.kernel, log: a.log, host: a.host, wants: a.wants, modes: a.modes}
	if a.ledger, err = openLedger(a.opt.StateDir, a.opt.RunDir, a.host.now().BootID); err != nil {
		return err
	}
	a.blocks = &blocks{cluster: a.opt.Cluster, ledger: a.ledger, log: a.log, host: a.host, networks: a.networks, roll: a.roll, ready: &a.ready,
		lent: map[heddle.Pin]bool{}, moving: map[heddle.Pin]bool{}, yielding: map[heddle.Block]bool{}, idle: map[heddle.Block]time.Time{}}
	a.books = &books{cluster: a.opt.Cluster, kernel: a.kernel, ledger: a.ledger, log: a.log, trip: a.trip, host: a.host, networks: a.networks,
		roll: a.roll, departures: a.departures, blocks: a.blocks, keepFor: a.opt.LeaseTime, given: map[string][]given{}}
	a.flows = &flows{kernel: a.kernel, log: a.log, roll: a.roll, ports: a.ports, behind: &a.finished}
	a.holds = &holds{namespaces: a.kernel, lost: a.kernel, log: a.log, trip: a.trip, roll: a.roll, runDir: a.opt.RunDir, root: a.opt.Root}
	a.containers = &containers{namespaces: a.kernel, ends: a.kernel, log: a.log, roll: a.roll, departures: a.departures, holds: a.holds}
	a.tenures = &tenures{kernel: a.kernel, ledger: a.ledger, log: a.log, networks: a.networks, roll: a.roll}
	a.defaults = &defaults{kernel: a.kernel, ledger: a.ledger, log: a.log, trip: a.trip, host: a.host, networks: a.networks, roll: a.roll,
		containers: a.containers, pods: &a.pods, ids: &a.ids, holders: map[uint64]heddle.EndpointID{}, unsettled: map[uint64]unsettledRoute{}}
	a.handovers = &handovers{kernel: a.kernel, namespaces: a.kernel, ledger: a.ledger, log: a.log, trip: a.trip, host: a.host, networks: a.networks, roll: a.roll,
		containers: a.containers, holds: a.holds, tenures: a.tenures, links: &a.links, activity: &a.activity, mending: a.mending, ids: &a.ids}
	a.plans = &plans{kernel: a.kernel, networks: a.networks, roll: a.roll, ways: a.ways, wants: a.wants}
	a.mender = &mender{kernel: a.kernel, namespaces: a.kernel, log: a.log, gates: a.gates, networks: a.networks, roll: a.roll, ways: a.ways, plans: a.plans,
		troubles: a.troubles, handovers: a.handovers, links: &a.links, works: &a.works, ids: &a.ids, mending: a.mending}
	return nil
}

// openKernel opens the host's kernel, and has it ask the agent what others want.
func (a *Agent) openKernel() (err error) {
	open := a.opt.Machine
	if open == nil {
		open = openMachine
	}
	a.kernel, err = open(Hooks{Tripwire: a.opt.Tripwire, Wanted: a.wants.by, GivenAway: a.roll.givenAway, Lost: func(nic, what string) {
		a.log.Warn("a container has taken something off a NIC: put it back yourself", "nic", nic, "lost", what)
	}})
	if err != nil {
		return err
	}
	a.gates = &gates{Gates: a.kernel.Gates, log: a.log, networks: a.networks}
	if a.opt.NoFastPath {
		return a.kernel.SwitchOffFastPath()
	}
	return nil
}

// forkTime is how long a forked child may take to become another program.
const forkTime = 3 * time.Second

func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, heddle.Wrap(heddle.LedgerFull, "open the lock file", path, err, "give a folder that can be written with --run-dir")
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	// a child that a killed agent had just forked (iptables-legacy) holds the
	// lock until it has become that program
	for end := time.Now().Add(forkTime); errors.Is(err, unix.EWOULDBLOCK) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(heddle.Wrap(heddle.AgentRuns, "lock the run folder with", path, err, "stop the agent that has locked it, or use other folders (--run-dir, --state-dir)"), f.Close())
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
	a.departures.hurryAll()
	a.finished.Wait()
	var errs []error
	if a.paths != nil {
		a.paths.Close()
	}
	if a.ledger != nil {
		a.saveCursors()
		errs = append(errs, a.ledger.close())
	}
	if a.gates != nil {
		errs = append(errs, a.gates.Close())
	}
	if a.kernel.Close != nil {
		errs = append(errs, a.kernel.Close())
	}
	if a.lock != nil {
		errs = append(errs, a.lock.Close())
	}
	return errors.Join(errs...)
}
