package agent

import (
	"log/slog"
	"maps"
	"slices"

	"github.com/heddle-network/heddle"
)

// problems are the problems that the status reports.
type problems struct {
	log *slog.Logger

	mu rwMutex[atProblems]
	// unrepaired says, by owner, why not everything could be repaired.
	unrepaired map[string]string
	// missing are the networks of the cluster, by ID, that are not on this host.
	missing map[string]missingNetwork
	// localOnly says which networks of this host the cluster did not take, and why.
	localOnly map[string]error
}

// missingNetwork is a network of the cluster that is not on this host, and why.
type missingNetwork struct {
	name string
	why  error
}

func newProblems(log *slog.Logger) *problems {
	return &problems{log: log, unrepaired: map[string]string{}, missing: map[string]missingNetwork{},
		localOnly: map[string]error{}}
}

// noteUnrepaired records why not everything of an owner could be repaired; nil if it could.
func (t *problems) noteUnrepaired(owner string, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.unrepaired, owner)
	if why != nil {
		t.unrepaired[owner] = why.Error()
	}
}

// forgetRepaired drops the owners whose objects are complete again.
func (t *problems) forgetRepaired(broken owners) {
	still := map[string]bool{tunnels: broken.hostPaths, policyOwner: true, havipOwner: true, routeOwner: true} // reconcile says itself what is wrong with policies, and so do HAVIPs and routes
	for _, n := range broken.networks {
		still[n.Name] = true
	}
	for _, r := range broken.endpoints {
		still[r.Endpoint.ID.String()] = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.unrepaired, func(owner, _ string) bool { return !still[owner] })
}

// noteMissing records that a network of the cluster cannot be on this host, and why; nil if it
// can.
func (t *problems) noteMissing(id, name string, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if why == nil {
		delete(t.missing, id)
		return
	}
	if old := t.missing[id]; old.why == nil || old.why.Error() != why.Error() {
		t.log.Error("a network of the cluster is not on this host", "network", name, "error", why)
	}
	t.missing[id] = missingNetwork{name, why}
}

// whyMissing returns why a network of the cluster is not on this host; nil if it may come yet.
func (t *problems) whyMissing(name string) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, u := range t.missing {
		if u.name == name {
			return u.why
		}
	}
	return nil
}

// missingNames returns the names of the cluster's networks that are not on this host, by ID.
func (t *problems) missingNames() map[string]string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := map[string]string{}
	for id, u := range t.missing {
		all[id] = u.name
	}
	return all
}

// noteLocalOnly records why the cluster did not take a network; nil if it did.
func (t *problems) noteLocalOnly(name string, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.localOnly, name)
	if why != nil {
		t.localOnly[name] = why
	}
}

// networkProblems reports which networks are not on this host, and which are on this host alone.
func (t *problems) networkProblems() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var all []string
	for _, u := range t.missing {
		all = append(all, "network "+u.name+" is not on this host: "+u.why.Error())
	}
	slices.Sort(all)
	for _, name := range slices.Sorted(maps.Keys(t.localOnly)) {
		all = append(all, "network "+name+" is on this host alone: "+t.localOnly[name].Error())
	}
	return all
}

// repairPart reports what the last comparison could not repair, and the problems in more.
func (t *problems) repairPart(more []string) heddle.PartStatus {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.unrepaired) == 0 && len(more) == 0 {
		return heddle.PartStatus{Name: "repair", State: "ok", Detail: "the host is as planned"}
	}
	for _, owner := range slices.Sorted(maps.Keys(t.unrepaired)) {
		more = append(more, owner+": "+t.unrepaired[owner])
	}
	return heddle.PartStatus{Name: "repair", State: "bad", Detail: "not put right: " + firstFew(more, "; ")}
}
