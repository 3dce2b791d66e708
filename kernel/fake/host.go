// Package fake is a kernel in memory, which makes, compares and removes plans as package kernel
// does. Its state is a set of objects for the host and one for each container; heddle.ObjectKinds
// gives the order in which they are made and removed. It refuses an object whose dependency is
// missing, deletes with a link what depends on the link, reverts a failed Apply, and calls a
// tripwire before each step. No packet passes, and nothing takes time.
//
// Both kernels keep one contract: see package test/contract.
package fake

import (
	"maps"
	"slices"
	"sync"

	"github.com/heddle-network/heddle"
)

// Host is a machine. It outlives an agent.
type Host struct {
	mu   sync.Mutex
	own  *namespace
	pods map[string]*namespace // the living namespaces by path
	// count is the number of namespaces, index that of links, made so far.
	count uint64
	index int
	facts heddle.HostFacts
}

// NewHost makes a machine that has only its interfaces, which are up.
func NewHost(facts heddle.HostFacts) *Host {
	h := &Host{pods: map[string]*namespace{}, facts: facts}
	h.own = h.newNamespace("")
	for _, l := range facts.Links {
		h.own.add(&link{Link: heddle.Link{Name: l.Name, Kind: "dummy", MTU: l.MTU, MAC: l.MAC}, up: true})
	}
	return h
}

// newNamespace makes a namespace that has only its loopback, which is down except on the host.
func (h *Host) newNamespace(path string) *namespace {
	h.count++
	s := &namespace{host: h, path: path, number: h.count, links: map[string]*link{}, objects: map[string]heddle.Object{}, on: map[string]map[string]bool{}}
	s.add(&link{Link: heddle.Link{Name: "lo"}, up: path == ""})
	return s
}

// Begin starts a container: a network namespace at a path. It replaces the one that was there.
func (h *Host) Begin(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end(path)
	h.pods[path] = h.newNamespace(path)
}

// End ends a container: its namespace is deleted, with all objects in it and the far ends of its
// links.
func (h *Host) End(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end(path)
}

func (h *Host) end(path string) {
	s := h.pods[path]
	if s == nil {
		return
	}
	delete(h.pods, path)
	s.gone.Store(true)
	for _, l := range slices.Collect(maps.Values(s.links)) {
		s.drop(l)
	}
	clear(s.objects)
}

// Lose simulates that somebody else removes an object of the host, with all that depends
// on it. It reports whether the object was there.
func (h *Host) Lose(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.own.lose(key)
}

// Objects are the objects of the host, by key, without the interfaces that were there before and
// the loopback. The object of a link is its settings.
func (h *Host) Objects() map[string]heddle.Object {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.own.all()
}

// PodObjects is like Objects for the container at a path; none if there is no container.
func (h *Host) PodObjects(path string) map[string]heddle.Object {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.pods[path]; s != nil {
		return s.all()
	}
	return nil
}

// at finds the namespace at a path.
func (h *Host) at(path string) (*namespace, error) {
	if s := h.pods[path]; s != nil {
		return s, nil
	}
	return nil, heddle.Errorf(heddle.BadNamespace, "open network namespace", path, "the kernel in memory has no such container", "make it first")
}
