// Package reconcile keeps the networks that hosts share in the Docker of this host. It
// calls dockerd as every client does, outside of the calls that dockerd makes to its
// driver.
//
//	another host's dockerd ── its agent ── store ── agent ── Reconciler ──> dockerd
//
// Docker tells a driver neither the name nor the labels of a network. So the Reconciler
// asks dockerd for them when a network was created here. After that, every dockerd of the
// cluster gets the network. When a network has left the cluster, it is removed from every
// dockerd, as soon as no container uses it there. Everything is compared again and again.
// So there is no special code for a dockerd that was down, a host that joined later, or a
// network that somebody removed by hand.
package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/door/docker"
)

// DefaultHost is where dockerd listens.
const DefaultHost = "unix:///var/run/docker.sock"

const (
	// retryFirst and retryMost are the shortest and the longest wait after a comparison
	// that had findings. A change ends the wait.
	retryFirst = 500 * time.Millisecond
	retryMost  = 10 * time.Second
	// settleTime is how long a network may be known to its driver and not to dockerd:
	// dockerd does not list a network while it creates it.
	settleTime = 30 * time.Second
)

// Options of a Reconciler.
type Options struct {
	// Host is dockerd's address; empty stands for DefaultHost.
	Host string
	// Driver is what dockerd calls this driver: "heddle", or the managed plugin's name.
	Driver string
	Log    *slog.Logger
}

// Reconciler makes the networks of one dockerd agree with those of the cluster.
type Reconciler struct {
	agent  *agent.Agent
	door   *docker.Server
	docker *dockerd
	driver string
	log    *slog.Logger
	wake   chan struct{}
	names  *namer
	// background counts what runs beside Run.
	background sync.WaitGroup
	// retrying says that the last comparison had findings, and will be repeated in any case.
	retrying atomic.Bool
	// answers says that dockerd answers now.
	answers atomic.Bool
	// missingSince is when a network that the door knows was first missing in dockerd, by
	// Docker's id.
	missingSince map[string]time.Time

	mu       sync.Mutex
	findings []heddle.Finding
}

// New makes a reconciler; Run does its work. The door's Changed has to call Wake.
func New(a *agent.Agent, door *docker.Server, o Options) (*Reconciler, error) {
	if o.Host == "" {
		o.Host = DefaultHost
	}
	if o.Driver == "" {
		o.Driver = heddle.Mark
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d, err := dial(o.Host)
	if err != nil {
		return nil, err
	}
	r := &Reconciler{agent: a, door: door, docker: d, driver: o.Driver, log: o.Log, wake: make(chan struct{}, 1), missingSince: map[string]time.Time{}}
	r.names = newNamer(r)
	return r, nil
}

// Wake starts another comparison.
func (r *Reconciler) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run compares until the context ends.
func (r *Reconciler) Run(ctx context.Context) {
	r.background.Go(func() { r.watchDockerd(ctx, sync.OnceFunc(func() { r.background.Go(r.tryAhead) })) })
	r.background.Go(func() { r.names.run(ctx) })
	defer r.background.Wait()
	wait := retryFirst
	for ctx.Err() == nil {
		c := r.compare(ctx)
		r.recordFindings(c.findings)
		var later <-chan time.Time
		r.retrying.Store(len(c.findings) > 0 || c.retry)
		if r.retrying.Load() {
			later = time.After(wait)
			wait = min(2*wait, retryMost)
		} else {
			wait = retryFirst
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-r.agent.NetworksChanged():
		case <-later:
		}
	}
}

// tryAhead tries the modes that Docker's networks have by default: first overlay, if the
// host is in a cluster.
func (r *Reconciler) tryAhead() {
	if r.agent.Spans("overlay") {
		r.agent.TryAhead("overlay")
	}
	r.agent.TryAhead("bridge")
}

// watchDockerd passes on dockerd's events: to the comparison of networks, and to who names
// endpoints. It calls first whenever dockerd answers or reports an event.
func (r *Reconciler) watchDockerd(ctx context.Context, first func()) {
	for ctx.Err() == nil {
		r.docker.watchEvents(ctx, func(e event) {
			r.answers.Store(true)
			if r.concerns(e) {
				r.Wake()
			}
			r.names.notice(ctx, e)
			first()
		})
		if r.answers.Swap(false) {
			r.Wake()
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryFirst):
		}
	}
}

// concerns reports whether the networks are to be compared after an event: when dockerd comes up,
// and when a network is created or removed there. When a container leaves a network, they are only if
// the last comparison had findings: the network may be one that could not be removed.
func (r *Reconciler) concerns(e event) bool {
	switch {
	case e.Type == ofNetwork && e.Action == actionDisconnect:
		return r.retrying.Load()
	case e.Type == ofNetwork:
		return e.Action != actionConnect
	}
	return e.Type == ""
}

// Part is the status of dockerd's networks and of the names of its containers: the first of the
// findings of each. There is none where no dockerd runs and none is needed.
func (r *Reconciler) Part() heddle.PartStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := partOf(r.answers.Load(), r.findings)
	if all := r.names.troubles(); len(all) > 0 && p.Name != "" {
		p.State = "warn"
		p.Detail += fmt.Sprintf("; names of %s are not in order: %s: %s", heddle.Count(len(all), "container"), all[0].Object, all[0].Detail)
	}
	return p
}

func partOf(answers bool, findings []heddle.Finding) heddle.PartStatus {
	p := heddle.PartStatus{Name: "dockerd", State: "warn"}
	switch {
	case len(findings) > 0 && findings[0].Kind == kindUnreachable:
		p.Detail = "does not answer, and has networks of heddle: " + findings[0].Detail
	case len(findings) > 0:
		p.Detail = fmt.Sprintf("%s not in line: %s: %s", heddle.Count(len(findings), "network"), findings[0].Object, findings[0].Detail)
	case !answers:
		return heddle.PartStatus{}
	default:
		p.State, p.Detail = "ok", "has the cluster's networks that came from Docker"
	}
	return p
}

// recordFindings keeps the findings, and logs those that are new.
func (r *Reconciler) recordFindings(findings []heddle.Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range findings {
		if !slices.Contains(r.findings, f) {
			r.log.Warn("Docker's networks are not in line with the cluster's", "kind", f.Kind, "object", f.Object, "detail", f.Detail)
		}
	}
	r.findings = findings
}
