package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/door/docker"
)

// kindNames is the kind of the finding about a container that has a name which is left out, or that
// finds no names of other hosts.
const kindNames = "docker-names"

// inspectsAtOnce bounds how many containers dockerd is asked for at a time. It answers for none that
// is just being started.
const inspectsAtOnce = 8

// namer gives endpoints the names that their containers have in dockerd. dockerd does not tell its
// driver any, and cannot be asked while it calls the driver. So each container is looked at after
// dockerd has told an event of it, and all of them when dockerd answers again.
type namer struct {
	agent  *agent.Agent
	door   *docker.Server
	docker *dockerd
	log    *slog.Logger
	// background counts the goroutines. Those that call look are among them.
	background *sync.WaitGroup
	all        chan struct{}
	inspects   chan struct{}

	mu sync.Mutex
	// looking are the containers that are being looked at; true says once more.
	looking  map[string]bool
	findings map[string]heddle.Finding // by container
}

func newNamer(r *Reconciler) *namer {
	return &namer{agent: r.agent, door: r.door, docker: r.docker, log: r.log, background: &r.background, all: make(chan struct{}, 1),
		inspects: make(chan struct{}, inspectsAtOnce), looking: map[string]bool{}, findings: map[string]heddle.Finding{}}
}

// notice looks at the container that an event is about, and at all when dockerd answers again.
func (n *namer) notice(ctx context.Context, e event) {
	switch {
	case e.Type == "":
		select {
		case n.all <- struct{}{}:
		default:
		}
	case e.Type == ofNetwork && (e.Action == actionConnect || e.Action == actionDisconnect) && n.knows(e.Actor.ID):
		n.look(ctx, e.Actor.Attributes["container"])
	case e.Type == ofContainer && e.Action == actionRename:
		n.look(ctx, e.Actor.ID)
	}
}

// knows reports whether a network of dockerd's is one of ours.
func (n *namer) knows(network string) bool {
	return slices.ContainsFunc(n.door.Networks(), func(b docker.Binding) bool { return b.DockerID == network })
}

// run looks at all containers whenever notice asks for it, until ctx ends.
func (n *namer) run(ctx context.Context) {
	wait := retryFirst
	for ctx.Err() == nil {
		var again <-chan time.Time
		if err := n.lookAtAll(ctx); err != nil {
			again = time.After(wait)
			wait = min(2*wait, retryMost)
		} else {
			wait = retryFirst
		}
		select {
		case <-ctx.Done():
		case <-n.all:
		case <-again:
		}
	}
}

func (n *namer) lookAtAll(ctx context.Context) error {
	var networks []string
	for _, b := range n.door.Networks() {
		networks = append(networks, b.DockerID)
	}
	if len(networks) == 0 {
		return nil
	}
	all, err := n.docker.containersOn(ctx, networks)
	if err != nil {
		return err
	}
	n.mu.Lock()
	maps.DeleteFunc(n.findings, func(id string, _ heddle.Finding) bool {
		return !slices.ContainsFunc(all, func(c container) bool { return c.ID == id })
	})
	n.mu.Unlock()
	for _, c := range all {
		n.look(ctx, c.ID)
	}
	return nil
}

// look names the endpoints of a container in the background.
func (n *namer) look(ctx context.Context, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, busy := n.looking[id]; busy {
		n.looking[id] = true
		return
	}
	n.looking[id] = false
	n.background.Go(func() { n.keepLooking(ctx, id) })
}

// keepLooking tries until the container is named, and once more if it was to be looked at meanwhile.
func (n *namer) keepLooking(ctx context.Context, id string) {
	for wait := retryFirst; ; {
		err := n.lookOnce(ctx, id)
		n.mu.Lock()
		again := n.looking[id]
		n.looking[id] = false
		if err == nil && !again || ctx.Err() != nil {
			delete(n.looking, id)
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
		if err != nil {
			if wait == retryFirst {
				n.log.Warn("a container of Docker's is not named yet", "container", heddle.ShortDockerID(id), "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
			wait = min(2*wait, retryMost)
		}
	}
}

// lookOnce names the endpoints of a container as dockerd says now.
func (n *namer) lookOnce(ctx context.Context, id string) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case n.inspects <- struct{}{}:
		defer func() { <-n.inspects }()
	}
	c, err := n.docker.container(ctx, id)
	if statusOf(err) == http.StatusNotFound {
		n.note(container{ID: id}, nil)
		return nil
	}
	if err != nil {
		return err
	}
	var trouble error // the first
	var failed []error
	for _, network := range slices.Sorted(maps.Keys(c.NetworkSettings.Networks)) {
		on := c.NetworkSettings.Networks[network]
		endpoint, is := n.endpointOf(on)
		if !is {
			continue
		}
		name, aliases, err := c.names(*on)
		if err == nil && len(endpoint.NameServers) > 0 {
			err = c.askedFromHost()
		}
		if trouble == nil {
			trouble = err
		}
		if err := n.agent.SetNames(endpoint.ID, name, aliases); err != nil && !errors.Is(err, heddle.NoEndpoint.Sentinel()) {
			failed = append(failed, err)
		}
	}
	n.note(c, trouble)
	return errors.Join(failed...)
}

// endpointOf returns our endpoint for a container's connection, and whether it is one of ours.
func (n *namer) endpointOf(on *connection) (e heddle.Endpoint, is bool) {
	if on == nil || on.EndpointID == "" {
		return e, false
	}
	id, err := docker.EndpointID(on.EndpointID)
	if err == nil {
		e, err = n.agent.Endpoint(id)
	}
	return e, err == nil
}

// note keeps the trouble with a container's names, and logs it if it is new.
func (n *namer) note(c container, trouble error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if trouble == nil {
		delete(n.findings, c.ID)
		return
	}
	f := heddle.Finding{Kind: kindNames, Object: "container " + c.label(), Detail: trouble.Error()}
	if n.findings[c.ID] != f {
		n.log.Warn("names of a container of Docker's are not in order", "container", c.label(), "detail", f.Detail)
	}
	n.findings[c.ID] = f
}

// troubles lists the findings, sorted by container.
func (n *namer) troubles() []heddle.Finding {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.SortedFunc(maps.Values(n.findings), func(a, b heddle.Finding) int {
		return strings.Compare(a.Object, b.Object)
	})
}
