package agent

import (
	"log/slog"
	"maps"
	"slices"

	"github.com/heddle-network/heddle"
)

// troubles are the problems that the status reports.
type troubles struct {
	log *slog.Logger

	mu rwMutex[atTroubles]
	// stuck says, by owner, why not everything could be repaired.
	stuck map[string]string
	// unfit are the networks of the cluster, by ID, that are not on this host.
	unfit map[string]unfit
	// lonely says which networks of this host the cluster did not take, and why.
	lonely map[string]error
}

// unfit is a network of the cluster that is not on this host, and why.
type unfit struct {
	name string
	why  error
}

func newTroubles(log *slog.Logger) *troubles {
	return &troubles{log: log, stuck: map[string]string{}, unfit: map[string]unfit{}, lonely: map[string]error{}}
}

// noteStuck records why not everything of an owner could be repaired.
func (t *troubles) noteStuck(owner string, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.stuck, owner)
	if why != nil {
		t.stuck[owner] = why.Error()
	}
}

// forgetStuck forgets the owners that miss nothing any more.
func (t *troubles) forgetStuck(broken owners) {
	still := map[string]bool{tunnels: broken.reach}
	for _, n := range broken.networks {
		still[n.Name] = true
	}
	for _, r := range broken.endpoints {
		still[r.Endpoint.ID.String()] = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.stuck, func(owner, _ string) bool { return !still[owner] })
}

// noteUnfit keeps which networks of the cluster this host cannot have, and why.
func (t *troubles) noteUnfit(id, name string, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if why == nil {
		delete(t.unfit, id)
		return
	}
	if old := t.unfit[id]; old.why == nil || old.why.Error() != why.Error() {
		t.log.Error("a network of the cluster is not on this host", "network", name, "error", why)
	}
	t.unfit[id] = unfit{name, why}
}

// unfitNames are the names of the networks that are not on this host, by ID.
func (t *troubles) unfitNames() map[string]string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := map[string]string{}
	for id, u := range t.unfit {
		all[id] = u.name
	}
	return all
}

// noteLonely keeps why the cluster did not take a network; nil if it did.
func (t *troubles) noteLonely(name string, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.lonely, name)
	if why != nil {
		t.lonely[name] = why
	}
}

// apart says which networks are not on this host, and which on it alone.
func (t *troubles) apart() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var all []string
	for _, u := range t.unfit {
		all = append(all, "network "+u.name+" is not on this host: "+u.why.Error())
	}
	slices.Sort(all)
	for _, name := range slices.Sorted(maps.Keys(t.lonely)) {
		all = append(all, "network "+name+" is on this host alone: "+t.lonely[name].Error())
	}
	return all
}

// stuckPart reports what the last comparison could not repair, and what else is told.
func (t *troubles) stuckPart(told []string) heddle.PartStatus {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.stuck) == 0 && len(told) == 0 {
		return heddle.PartStatus{Name: "repair", State: "ok", Detail: "the host is as planned"}
	}
	for _, owner := range slices.Sorted(maps.Keys(t.stuck)) {
		told = append(told, owner+": "+t.stuck[owner])
	}
	return heddle.PartStatus{Name: "repair", State: "bad", Detail: "not put right: " + firstFew(told, "; ")}
}
