package reconcile

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/docker"
)

// Kinds of findings.
const (
	kindUnreachable = "docker-away"   // dockerd does not answer
	kindName        = "docker-name"   // a network has another name in Docker than in the cluster
	kindLeftover    = "docker-left"   // a network of dockerd's is no longer the cluster's
	kindMissing     = "docker-absent" // a network of the cluster's is not in dockerd
)

// comparison is one comparison of dockerd's networks with the agent's.
type comparison struct {
	*Reconciler
	existing map[string]network // dockerd's networks, by Docker's id
	findings []heddle.Finding
	// again says that there is more to do although there is no finding.
	retry bool
	// making says that dockerd may be creating a network, whose name is not known.
	creating bool
}

// compare makes dockerd's networks and the agent's agree, as far as possible, and reports
// the remaining differences.
func (e *Reconciler) compare(ctx context.Context) *comparison {
	r := &comparison{Reconciler: e, existing: map[string]network{}}
	all, err := e.docker.networks(ctx)
	if err != nil {
		r.unreachable(err)
		return r
	}
	for _, n := range all {
		r.existing[n.ID] = n
	}
	has := map[string]bool{}   // our networks that dockerd has
	known := map[string]bool{} // dockerd's networks that the door knows
	for _, b := range e.door.Networks() {
		known[b.DockerID] = true
		if r.compareBinding(ctx, b) {
			has[b.NetworkID] = true
		}
	}
	maps.DeleteFunc(e.missingSince, func(id string, _ time.Time) bool { return !known[id] })
	for _, n := range all {
		if n.Driver == e.driver && n.Options[docker.KeyID] != "" && !known[n.ID] {
			r.removeNetwork(ctx, n) // the door has lost its record, and cannot serve it
		}
	}
	for _, n := range e.agent.Networks() {
		if n.Docker != nil && n.Shared && !n.Deleting && !has[n.ID] && !r.creating {
			r.createNetwork(ctx, n)
		}
	}
	return r
}

// unreachable adds a finding if this host's Docker should have a network. watchDockerd
// wakes the reconciler when dockerd is up again.
func (r *comparison) unreachable(err error) {
	if len(r.door.Networks()) > 0 || slices.ContainsFunc(r.agent.Networks(), func(n heddle.Network) bool { return n.Docker != nil }) {
		r.addFinding(kindUnreachable, "dockerd", err)
	}
}

func (r *comparison) addFinding(kind, object string, err error) {
	r.findings = append(r.findings, heddle.Finding{Kind: kind, Object: object, Detail: err.Error()})
}

// compareBinding handles one network that the door has recorded. It reports whether dockerd
// needs no other network for it.
func (r *comparison) compareBinding(ctx context.Context, b docker.Binding) bool {
	n, there := r.existing[b.DockerID]
	if !there {
		return r.forgetMissing(b)
	}
	delete(r.missingSince, b.DockerID)
	_, err := r.agent.NetworkByID(b.NetworkID)
	switch {
	case errors.Is(err, heddle.NoNetwork.Sentinel()):
		r.removeNetwork(ctx, n)
	case err == nil && b.Provisional:
		r.adoptName(b, n)
	case err == nil && n.Options[docker.KeyID] != "" && r.hasTwin(n):
		return r.withdraw(ctx, b, n)
	case err == nil && b.Withdrawn: // it is the only one of its name by now
		if err := r.door.Withdraw(b.DockerID, false); err != nil {
			r.addFinding(kindLeftover, "network "+n.Name, err)
		}
	}
	return true
}

// hasTwin reports whether dockerd has another network of the same name, created at the
// same moment: dockerd checks the name only before it creates a network.
func (r *comparison) hasTwin(n network) bool {
	for _, other := range r.existing {
		if other.ID != n.ID && other.Name == n.Name {
			return true
		}
	}
	return false
}

// withdraw removes a network of the cluster from this dockerd, and from no other. While
// containers use it there, dockerd keeps it, and so does the door.
func (r *comparison) withdraw(ctx context.Context, b docker.Binding, n network) bool {
	if err := r.door.Withdraw(b.DockerID, true); err != nil {
		r.addFinding(kindLeftover, "network "+n.Name, err)
		return true
	}
	return !r.removeNetwork(ctx, n)
}

// adoptName gives a network of ours the name that it has in this dockerd. After that, the
// network can be created in the dockerds of other hosts.
func (r *comparison) adoptName(b docker.Binding, n network) {
	_, err := r.agent.NameNetwork(b.NetworkID, n.Name, n.description())
	if err == nil {
		err = r.door.Named(b.DockerID)
	}
	if err != nil {
		r.addFinding(kindName, "network "+n.Name, err)
		return
	}
	r.log.Info("a network of Docker's has its name", "network", n.Name, "id", b.NetworkID)
}

// removeNetwork removes a network from dockerd that the cluster does not have any more, or that
// does not belong in this dockerd, and reports whether it is gone. A network with
// containers stays until they are gone.
func (r *comparison) removeNetwork(ctx context.Context, n network) bool {
	err := r.docker.remove(ctx, n.ID)
	if statusOf(err) == http.StatusNotFound {
		err = r.door.Forget(n.ID)
	}
	if err != nil {
		r.addFinding(kindLeftover, "network "+n.Name, err)
		return false
	}
	r.log.Info("a network is removed from Docker", "network", n.Name)
	return true
}

// forgetMissing forgets a network that dockerd does not have (any more), once what is left of it
// is gone.
func (r *comparison) forgetMissing(b docker.Binding) bool {
	since, known := r.missingSince[b.DockerID]
	if !known {
		since = time.Now()
		r.missingSince[b.DockerID] = since
	}
	if time.Since(since) < settleTime {
		r.retry = true
		r.creating = r.creating || b.Provisional && time.Since(since) < docker.CreateTime
		return true
	}
	err := r.deleteUnknown(b)
	if err == nil || errors.Is(err, heddle.NoNetwork.Sentinel()) {
		err = r.door.Forget(b.DockerID)
	}
	if err != nil {
		r.addFinding(kindMissing, "network of Docker's "+b.DockerID, err)
		return true
	}
	delete(r.missingSince, b.DockerID)
	r.log.Info("a network that dockerd does not have is forgotten", "docker", b.DockerID, "id", b.NetworkID)
	return false
}

// deleteUnknown deletes a network that dockerd does not have any more, if no other host knows
// it. If containers of this dockerd have endpoints there, that is an error.
func (r *comparison) deleteUnknown(b docker.Binding) error {
	n, err := r.door.NetworkOf(b)
	if err != nil {
		return err
	}
	if b.Provisional || !n.Shared && n.Docker != nil {
		return r.agent.DeleteNetwork(n.ID)
	}
	for _, e := range r.agent.Endpoints() {
		if e.Network == n.ID && docker.OfDocker(e.ID) {
			return heddle.Errorf(heddle.NetworkInUse, "delete network", n.Name, "endpoint "+e.ID.String()+" is attached, and dockerd does not have the network any more",
				"detach the endpoint with 'heddle detach'")
		}
	}
	return nil
}

// createNetwork creates a network of the cluster in dockerd, unless the name is in use there: that
// other network belongs to somebody else, and stays.
func (r *comparison) createNetwork(ctx context.Context, n heddle.Network) {
	for _, other := range r.existing {
		if other.Name == n.Name {
			r.addFinding(kindMissing, "network "+n.Name, heddle.Errorf(heddle.NetworkExists, "create network in Docker", n.Name,
				"Docker has another network of that name ("+other.Driver+", "+heddle.ShortDockerID(other.ID)+")",
				"remove or rename the other network: the agent then creates the cluster's by itself"))
			return
		}
	}
	if err := r.docker.create(ctx, networkFor(n, r.driver)); err != nil {
		r.addFinding(kindMissing, "network "+n.Name, err)
		return
	}
	r.log.Info("a network of the cluster is in Docker", "network", n.Name, "id", n.ID)
}

// statusOf is the HTTP status of dockerd's refusal; 0 for another error or none.
func statusOf(err error) int {
	var r *refusal
	if errors.As(err, &r) {
		return r.status
	}
	return 0
}
