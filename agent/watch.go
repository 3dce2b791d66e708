package agent

import (
	"context"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

const (
	// patrolEvery is how often the host is compared with the plans if there is no event. With very
	// many endpoints this is less often, so that comparing takes at most a fiftieth of the time.
	// Comparing may be slow only because the machine is busy. So the interval is at most
	// patrolAtMost, as long as comparing takes no more than a tenth of the time.
	patrolEvery  = 5 * time.Second
	patrolShare  = 50
	patrolAtMost = 30 * time.Second
	patrolTenth  = 10
	// settleAfter is how long events are collected before the host is compared.
	settleAfter = 100 * time.Millisecond
	// echoTime is how long after an operation of our own events are regarded as its echo. Then
	// only the static part of the firewall is compared: this is what the reload of another
	// firewall removes, and comparing it takes the same time at any size.
	echoTime = 500 * time.Millisecond
)

// watch starts the patrol, which restores our objects within a second after somebody else has
// removed them.
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
	tick := time.NewTicker(echoTime)
	defer tick.Stop()
	var due, soonest time.Time // when the next full comparison is due without an event, and with one
	var missing map[heddle.EndpointID]time.Time
	awaitAll(ctx, patrolEvery, []<-chan struct{}{a.compared}) // a repair may take long, and others are not to wait for it
	for {
		select {
		case <-ctx.Done():
			return
		case change := <-events:
			if !pause(ctx, settleAfter) {
				return
			}
			echo := a.activity.busy() && change != kernel.Policies &&
				(change != kernel.Tables || !a.plans.firewallBroken())
			if !echo {
				due = soonest
			}
		case <-a.compareSoon:
			due = soonest
		case <-tick.C:
			// other firewalls' tables send no event; meanwhile, a new rule behind ours has no
			// effect
			if a.otherFirewalls.Stale() {
				a.otherFirewalls.open()
			}
		}
		a.handovers.completeHandovers(engineHeadStart)
		if time.Now().Before(due) {
			continue
		}
		began := time.Now()
		a.repairJobs.start("housekeeping", work{what: "look after what is over"}, func(t *task) {
			t.waitFor("the kernel")
			if a.unpruned.Load() {
				a.pruneAtStart()
			}
			a.saveCursors()
			missing = a.collectVanished(missing)
			a.reservations.cleanUp()
			a.followLeases()
			a.endForgotten()
		})
		a.defaults.retry(a.repairJobs)
		if a.policies.unsettled.Load() {
			a.policiesSoon()
		}
		a.replanUnplanned()
		a.repairer.reconcile()
		took, now := time.Since(began), time.Now()
		due, soonest = now.Add(a.patrolAfter(took)), now.Add(took*2)
	}
}

// patrolAfter returns when the next comparison is due after one that took that long.
func (a *Agent) patrolAfter(took time.Duration) time.Duration {
	if a.opt.Patrol > 0 {
		return a.opt.Patrol
	}
	return max(min(max(patrolEvery, took*patrolShare), patrolAtMost), took*patrolTenth)
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// replanUnplanned reads the host's facts again, lets the networks follow what changed, and plans
// those that could not be planned before: their parent may exist now.
func (a *Agent) replanUnplanned() {
	if err := a.host.refresh(); err != nil {
		a.log.Error("host not looked at", "error", err)
		return
	}
	a.heedSurroundings()
	for _, n := range a.networks.unplanned() {
		a.repairJobs.start("plan "+n.ID, work{what: "make", network: n.Name}, func(t *task) {
			t.waitFor("the kernel")
			a.planNetwork(n.ID)
		})
	}
}

// planNetwork makes a network that could not be planned before.
func (a *Agent) planNetwork(id string) {
	defer a.networkLocks.Lock(id)()
	n := a.networks.byID(id)
	if n == nil || n.unplanned == nil {
		return
	}
	plan, err := n.mode.Network(a.host.now(), n.Network)
	if err == nil {
		err = a.replan(n, n.Network, plan)
	}
	if err != nil {
		a.log.Debug("network still cannot be planned", "network", n.Name, "error", err)
	}
}

// lastingState returns what an endpoint wants on the host for long. For one that is offered, this
// is without the container's end: its engine is about to move that, and has to ask for it again if
// it is gone.
func (r record) lastingState() heddle.State {
	s := r.Plan.Host
	if r.offered() {
		s.Links = slices.DeleteFunc(slices.Clone(s.Links), func(l heddle.Link) bool { return l.Name == r.handoverName() })
	}
	return s
}
