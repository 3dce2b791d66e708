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
	// echoTime is how long after an operation of our own its events are taken
	// for echoes: then only the firewall's frame is compared, which is what
	// reloads of others take away, and which costs the same at any size.
	echoTime = 500 * time.Millisecond
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
	tick := time.NewTicker(echoTime)
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
			echo := a.activity.busy() && change != kernel.Policies && (change != kernel.Tables || !a.plans.frameBroken())
			if !echo {
				due = soonest
			}
		case <-a.compareSoon:
			due = soonest
		case <-tick.C:
			// others' tables send no event; a rule that somebody has added behind
			// ours has no effect yet
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
			a.saveCursors()
			missing = a.collectVanished(missing)
			a.reservations.cleanUp()
		})
		a.defaults.retry(a.repairJobs)
		a.replanUnplanned()
		a.repairer.reconcile()
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

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// replanUnplanned looks at the host anew, has the networks follow what changed, and plans
// those that could not be planned before: their parent may have come.
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

// lastingState is what an endpoint wants on the host for long: of one that is offered, the
// container's end is about to go, and when it has gone is its engine's to ask for again.
func (r record) lastingState() heddle.State {
	s := r.Plan.Host
	if r.offered() {
		s.Links = slices.DeleteFunc(slices.Clone(s.Links), func(l heddle.Link) bool { return l.Name == r.handoverName() })
	}
	return s
}
