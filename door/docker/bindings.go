package docker

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/durable"
)

// Binding maps a network of the engine to one of ours. The engine's ids differ between
// hosts, ours do not.
type Binding struct {
	DockerID string `json:"dockerID"`
	// NetworkID is ours; empty, with Provisional, while the network is being made.
	NetworkID string `json:"networkID"`
	// Provisional says that the network does not have the engine's name for it yet. No
	// request of the engine contains that name.
	Provisional bool `json:"provisional,omitempty"`
	// Withdrawn says that the network is to be removed from this engine, and only from it.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// pending reports whether the network may not be there yet.
func (b Binding) pending() bool { return b.NetworkID == "" }

// bindings are on disk: after a reboot the engine still has its networks, but does not
// create them again in its driver.
type bindings struct {
	path string
	mu   sync.RWMutex
	all  map[string]Binding
	// changed is called after each change.
	changed func()
}

func openBindings(path string, changed func()) (*bindings, error) {
	b := &bindings{path: path, all: map[string]Binding{}, changed: changed}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &b.all)
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.LedgerBroken, "read Docker's networks from file", path, err,
			"restore the file from a copy; or move it away, and create Docker's networks of this driver again")
	}
	return b, nil
}

func (b *bindings) find(dockerID string) (Binding, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	found, known := b.all[dockerID]
	return found, known
}

func (b *bindings) list() (all []Binding) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, d := range slices.Sorted(maps.Keys(b.all)) {
		all = append(all, b.all[d])
	}
	return all
}

// put records a binding, or deletes it if it names no network of ours and none is being
// made.
func (b *bindings) put(with Binding) error {
	return b.change(func(all map[string]Binding) {
		all[with.DockerID] = with
		if with.NetworkID == "" && !with.Provisional {
			delete(all, with.DockerID)
		}
	})
}

// withdraw records whether a network is to be removed from this engine only.
func (b *bindings) withdraw(dockerID string, yes bool) error {
	return b.change(func(all map[string]Binding) {
		if with, known := all[dockerID]; known {
			with.Withdrawn = yes
			all[dockerID] = with
		}
	})
}

// named records that a network has the engine's name.
func (b *bindings) named(dockerID string) error {
	return b.change(func(all map[string]Binding) {
		if with, known := all[dockerID]; known && !with.pending() {
			with.Provisional = false
			all[dockerID] = with
		}
	})
}

func (b *bindings) change(f func(map[string]Binding)) error {
	b.mu.Lock()
	after := maps.Clone(b.all)
	f(after)
	if maps.Equal(after, b.all) {
		b.mu.Unlock()
		return nil
	}
	text, err := json.MarshalIndent(after, "", "\t")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(b.path), 0o700)
	}
	if err == nil {
		err = durable.Replace(b.path, text)
	}
	if err == nil {
		b.all = after
	}
	b.mu.Unlock()
	if err != nil {
		return heddle.Wrap(heddle.LedgerFull, "write Docker's networks to file", b.path, err, "make room on that file system")
	}
	if b.changed != nil {
		b.changed()
	}
	return nil
}
