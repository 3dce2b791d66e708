// Package engine keeps the networks that hosts share in the Docker of this host: it
// calls dockerd as every client does, outside of the calls that dockerd makes to its
// driver.
//
//	another host's dockerd ── its agent ── store ── agent ── Engine ──> dockerd
//
// Docker tells a driver neither the name nor the labels of a network. So a network
// that was created here is given them once dockerd has been asked, and then is to be
// had in every dockerd of the cluster; one that has left the cluster goes from every
// dockerd, once no container uses it there. All of it is compared again and again:
// a dockerd that was down, a host that joined later, a network that somebody removed
// by hand are no cases of their own.
package engine

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
	// again is how long a comparison that met trouble waits for the next one,
	// at first and at most. Nothing else is lost but time: what happens meanwhile
	// wakes it.
	againFirst = 500 * time.Millisecond
	againMost  = 10 * time.Second
	// settleTime is how long a network may be known to its driver and not to dockerd:
	// while it is created, dockerd does not show it.
	settleTime = 30 * time.Second
	// makeTime is how long it is likely that it is being created: its driver has
	// answered by then.
	makeTime = 2 * time.Second
)

// Options of an Engine.
type Options struct {
	// Host is dockerd's address; DefaultHost.
	Host string
	// Driver is what dockerd calls this driver: "heddle", or the managed plugin's name.
	Driver string
	Log    *slog.Logger
}

// Engine keeps a dockerd in line.
type Engine struct {
	agent  *agent.Agent
	door   *docker.Server
	docker *dockerd
	driver string
	log    *slog.Logger
	wake   chan struct{}
	// unsettled says that the last comparison met trouble, and is made again in any case.
	unsettled atomic.Bool
	// lost has when a network was first missed that the door knows, and dockerd does not.
	lost map[string]time.Time

	mu       sync.Mutex
	findings []heddle.Finding
}

// New makes an engine; Run does its work. The door's Changed is to call Wake.
func New(a *agent.Agent, door *docker.Server, o Options) (*Engine, error) {
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
	return &Engine{agent: a, door: door, docker: d, driver: o.Driver, log: o.Log, wake: make(chan struct{}, 1), lost: map[string]time.Time{}}, nil
}

// Wake has the engine compare anew.
func (e *Engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run compares until the context ends.
func (e *Engine) Run(ctx context.Context) {
	var listening sync.WaitGroup
	listening.Go(func() { e.listen(ctx, sync.OnceFunc(func() { listening.Go(e.tryAhead) })) })
	defer listening.Wait()
	wait := againFirst
	for ctx.Err() == nil {
		r := e.compare(ctx)
		e.note(r.findings)
		var later <-chan time.Time
		e.unsettled.Store(len(r.findings) > 0 || r.again)
		if e.unsettled.Load() {
			later = time.After(wait)
			wait = min(2*wait, againMost)
		} else {
			wait = againFirst
		}
		select {
		case <-ctx.Done():
		case <-e.wake:
		case <-e.agent.NetworksChanged():
		case <-later:
		}
	}
}

// tryAhead tries the modes that Docker's networks have unless they are given another,
// in a cluster first that of several hosts.
func (e *Engine) tryAhead() {
	if e.agent.Spans("overlay") {
		e.agent.TryAhead("overlay")
	}
	e.agent.TryAhead("bridge")
}

// listen wakes the engine when dockerd comes up, and when it has more networks or
// fewer. A network that a container has left may be one that could not be removed; if
// there is none, dockerd is spared the question. The first time that dockerd is there,
// first is called besides.
func (e *Engine) listen(ctx context.Context, first func()) {
	for ctx.Err() == nil {
		e.docker.follow(ctx, func(event string) {
			if event != disconnected || e.unsettled.Load() {
				e.Wake()
			}
			first()
		})
		select {
		case <-ctx.Done():
		case <-time.After(againFirst):
		}
	}
}

// Part is the status: what keeps dockerd from having the networks that it should
// have.
func (e *Engine) Part() heddle.PartStatus {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := heddle.PartStatus{Name: "dockerd", State: "ok", Detail: "has the cluster's networks that came from Docker"}
	if len(e.findings) > 0 {
		first := e.findings[0]
		p.State, p.Detail = "warn", fmt.Sprintf("%d of its networks are not in line: %s: %s", len(e.findings), first.Object, first.Detail)
	}
	return p
}

// note keeps the findings, and tells those that are new.
func (e *Engine) note(findings []heddle.Finding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range findings {
		if !slices.Contains(e.findings, f) {
			e.log.Warn("Docker's networks are not in line with the cluster's", "kind", f.Kind, "object", f.Object, "detail", f.Detail)
		}
	}
	e.findings = findings
}
