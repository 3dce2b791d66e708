// Package fake is a kernel in memory, which makes, compares and removes plans as package
// kernel does. What is there is a set of objects for the host and one for each container;
// heddle.ObjectKinds says in which order they come and go. It refuses what lacks what it
// stands on, takes along what goes with a link, undoes what an Apply has begun, and asks a
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

// Host is a machine. It lives on when an agent ends.
type Host struct {
	mu   sync.Mutex
	own  *namespace
	pods map[string]*namespace // by path, those that are alive
	// count is of namespaces, index of links.
	count uint64
	index int
	facts heddle.HostFacts
}

// NewHost is a machine that has nothing but its interfaces, which are up.
func NewHost(facts heddle.HostFacts) *Host {
	h := &Host{pods: map[string]*namespace{}, facts: facts}
	h.own = h.newNamespace("")
	for _, l := range facts.Links {
		h.own.add(&link{Link: heddle.Link{Name: l.Name, Kind: "dummy", MTU: l.MTU, MAC: l.MAC}, up: true})
	}
	return h
}

// newNamespace is a namespace with nothing but its loopback, which is down but for the host's.
func (h *Host) newNamespace(path string) *namespace {
	h.count++
	s := &namespace{host: h, path: path, number: h.count, links: map[string]*link{}, objects: map[string]heddle.Object{}, on: map[string]map[string]bool{}}
	s.add(&link{Link: heddle.Link{Name: "lo"}, up: path == ""})
	return s
}

// Begin starts a container: a network namespace at a path, in the place of the one that
// was there.
func (h *Host) Begin(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end(path)
	h.pods[path] = h.newNamespace(path)
}

// End ends a container: its namespace goes, with all that is in it and the far ends of
// its links.
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

// Objects are what the host has, by key, but for the interfaces that were there before and
// the loopback. The object of a link is its settings.
func (h *Host) Objects() map[string]heddle.Object {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.own.all()
}

// PodObjects is Objects of the container at a path; none if there is none.
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
