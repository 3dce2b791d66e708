package agent

import (
	"context"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

const (
	// patrolEvery is how often the host is compared with the plans when no
	// event came; with very many endpoints less often, so that comparing takes
	// no more than a fiftieth of the time; but half a minute later at most, since
	// it may be slow because the machine is busy, as long as it takes no more
	// than a tenth.
	patrolEvery  = 5 * time.Second
	patrolShare  = 50
	patrolAtMost = 30 * time.Second
	patrolTenth  = 10
	// settleAfter is how long events are collected before they are looked at.
	settleAfter = 100 * time.Millisecond
	// ownNoise is how long after an operation of our own its events are taken
	// for echoes: then only the firewall's frame is compared, which is what
	// reloads of others take away, and which costs the same at any size.
	ownNoise = 500 * time.Millisecond
)

// watch starts the patrol: whatever somebody else removes of ours is put back
// within a second.
func (a *Agent) watch(ctx context.Context) error {
	events, err := a.kernel.Watch(ctx)
	if err != nil {
		return err
	}
	a.finished.Add(1)
	go func() {
		defer a.finished.Done()
		a.patrol(ctx, events)
	}()
	return nil
}

func (a *Agent) patrol(ctx context.Context, events <-chan kernel.Change) {
	tick := time.NewTicker(ownNoise)
	defer tick.Stop()
	var due, soonest time.Time // of the next full comparison: without an event, and with one
	var missing map[heddle.EndpointID]time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case change := <-events:
			if !pause(ctx, settleAfter) {
				return
			}
			echo := a.busy() && change != kernel.Policies && (change != kernel.Tables || !a.frameBroken())
			if !echo {
				due = soonest
			}
		case <-tick.C:
			// others' tables send no event; a rule that somebody has added behind
			// ours has no effect yet
			if a.coexist.Stale() {
				a.admitForeign()
			}
		}
		a.noticeHandovers(engineRest)
		if time.Now().Before(due) {
			continue
		}
		began := time.Now()
		a.saveCursors()
		missing = a.collectVanished(missing)
		a.tendLeases()
		a.planAgain(ctx)
		a.reconcile()
		took, now := time.Since(began), time.Now()
		due, soonest = now.Add(a.patrolAfter(took)), now.Add(took*2)
	}
}

// patrolAfter is when the next comparison is due, after one that took so long.
func (a *Agent) patrolAfter(took time.Duration) time.Duration {
	if a.opt.Patrol > 0 {
		return a.opt.Patrol
	}
	return max(min(max(patrolEvery, took*patrolShare), patrolAtMost), took*patrolTenth)
}

// busy reports whether an operation of our own has just ended or is under way.
func (a *Agent) busy() bool {
	return a.working.Load() > 0 || time.Since(time.Unix(0, a.worked.Load())) < ownNoise
}

// work marks an operation that changes the kernel; call what it returns at its
// end.
func (a *Agent) work() func() {
	a.working.Add(1)
	return func() {
		a.worked.Store(time.Now().UnixNano())
		a.working.Add(-1)
	}
}

// frameBroken compares the static part of the firewall only.
func (a *Agent) frameBroken() bool {
	a.mu.RLock()
	var u unionBuilder
	for _, n := range a.networks {
		u.add(heddle.State{Firewall: n.plan.Host.Firewall})
	}
	a.mu.RUnlock()
	drift, err := a.kernel.Diff(heddle.Plan{Host: u.state}, nil)
	return err != nil || len(drift) > 0
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// reconcile compares the whole host with the plans, and repairs.
func (a *Agent) reconcile() {
	a.admitForeign()
	drift, err := a.kernel.Diff(heddle.Plan{Host: a.union()}, nil)
	if err != nil {
		a.log.Error("host not compared with its plans", "error", err)
		a.noteStuck([]string{"the host cannot be compared with its plans: " + err.Error()})
		return
	}
	var stuck []string
	putBack := func(owner string, apply func() ([]string, error)) {
		if err := a.putBack(owner, apply); err != nil {
			stuck = append(stuck, owner+": "+err.Error())
		}
	}
	defer func() { a.noteStuck(stuck) }()
	broken := a.ownersOf(drift)
	if broken.reach {
		a.networkOps.Lock()
		putBack("tunnels", func() ([]string, error) {
			made, err := a.kernel.Mend(a.reach.Host)
			a.setReachError(err)
			return made, err
		})
		a.networkOps.Unlock()
	} else {
		a.setReachError(nil)
	}
	for _, n := range broken.networks {
		a.repairNetwork(n.Name, n.ID, putBack)
	}
	for _, r := range broken.endpoints {
		unlock := a.ids.Lock(r.Endpoint.ID)
		if now, known := a.lookup(r.Endpoint.ID); known && a.pendingOf(r.Endpoint.ID) == "" {
			putBack(r.Endpoint.ID.String(), func() ([]string, error) { return a.repair(now) })
		}
		unlock()
	}
}

// repairNetwork puts back what is missing of a network's plan, unless it was deleted
// meanwhile.
func (a *Agent) repairNetwork(name, id string, putBack func(string, func() ([]string, error))) {
	a.networkOps.Lock()
	defer a.networkOps.Unlock()
	if n, err := a.network(name); err == nil && n.ID == id {
		putBack(name, func() ([]string, error) { return a.kernel.Mend(n.plan.Host) })
	}
}

// planAgain looks at the host anew, and plans the networks that could not be
// planned before: their parent may have come. What IPsec looks after goes into the
// ways to other hosts at once.
func (a *Agent) planAgain(ctx context.Context) {
	before, listened := a.host().Secured, a.host().Listening
	if err := a.refreshFacts(); err != nil {
		a.log.Error("host not looked at", "error", err)
		return
	}
	if a.opt.Cluster != nil && !slices.Equal(before, a.host().Secured) {
		a.adopt(ctx)
	}
	a.networkOps.Lock()
	defer a.networkOps.Unlock()
	if !slices.Equal(listened, a.host().Listening) {
		a.keepClear(listened)
	}
	for _, shown := range a.Networks() {
		n, err := a.network(shown.Name)
		if err != nil || n.unplanned == nil {
			continue
		}
		plan, err := n.mode.Network(a.host(), n.Network)
		if err == nil {
			err = a.replan(n, n.Network, plan)
		}
		if err != nil {
			a.log.Debug("network still cannot be planned", "network", n.Name, "error", err)
		}
	}
}

// noteStuck keeps, for the status, what could not be put right.
func (a *Agent) noteStuck(all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stuck = all
}

func (a *Agent) putBack(owner string, apply func() ([]string, error)) error {
	made, err := apply()
	if err != nil {
		a.log.Error("drift not repaired", "owner", owner, "error", err)
	}
	if len(made) > 0 {
		a.repairs.Add(uint64(len(made)))
		a.log.Warn("put back what somebody removed or changed", "owner", owner, "count", len(made), "first", made[0])
	}
	return err
}

type owners struct {
	reach     bool
	networks  []heddle.Network
	endpoints []record
}

// lasting is what an endpoint wants on the host for long: of one that is offered, the
// container's end is about to go, and when it has gone is its engine's to ask for again.
func (a *Agent) lasting(r record) heddle.State {
	s := r.Plan.Host
	if r.offered() {
		s.Links = slices.DeleteFunc(slices.Clone(s.Links), func(l heddle.Link) bool { return l.Name == r.handName() })
	}
	return s
}

// ownersOf finds the networks and endpoints that want the drifted objects.
func (a *Agent) ownersOf(drift []kernel.Difference) owners {
	if len(drift) == 0 {
		return owners{}
	}
	keys := map[string]bool{}
	for _, d := range drift {
		keys[d.Key] = true
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	found := owners{reach: wantsAny(a.reach.Host, keys)}
	for _, n := range a.networks {
		if wantsAny(n.plan.Host, keys) {
			found.networks = append(found.networks, n.Network)
		}
	}
	for id, r := range a.endpoints {
		if a.pending[id] == "" && wantsAny(a.lasting(r), keys) {
			found.endpoints = append(found.endpoints, r)
		}
	}
	return found
}

func wantsAny(s heddle.State, keys map[string]bool) bool {
	for _, o := range s.Objects() {
		if keys[o.Key()] {
			return true
		}
	}
	return false
}

func (a *Agent) admitForeign() {
	if err := a.admit(); err != nil {
		a.log.Error("other firewalls not opened for our traffic", "error", err)
	}
}

// admit lets our traffic through other firewalls' forward chains, while there
// is a network.
func (a *Agent) admit() error {
	a.mu.RLock()
	idle := len(a.networks) == 0
	a.mu.RUnlock()
	if idle {
		return nil
	}
	changed, err := a.coexist.Admit()
	if len(changed) > 0 {
		a.log.Info("opened other firewalls' forward chains for our traffic", "chains", changed)
	}
	return err
}

// refreshFacts looks at the host's interfaces anew.
func (a *Agent) refreshFacts() error {
	facts, err := a.kernel.Facts()
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	facts.Name, facts.Fabric = a.facts.Name, a.facts.Fabric
	a.facts = facts
	return nil
}
