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
)

// Binding says which of our networks one of the engine's is. The engine's ids
// differ between hosts, ours do not.
type Binding struct {
	DockerID string `json:"dockerID"`
	ID       string `json:"id"`
}

// bindings are on disk: after a reboot the engine knows its networks and tells
// nobody.
type bindings struct {
	path string
	mu   sync.RWMutex
	// all has our ids by the engine's.
	all map[string]string
}

func openBindings(path string) (*bindings, error) {
	b := &bindings{path: path, all: map[string]string{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &b.all)
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.LedgerBroken, "read Docker's networks in", path, err, "restore the file from a copy, or move it away: Docker's networks of this driver have to be removed and created anew then")
	}
	return b, nil
}

func (b *bindings) find(dockerID string) (id string, known bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	id, known = b.all[dockerID]
	return id, known
}

func (b *bindings) list() (all []Binding) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, d := range slices.Sorted(maps.Keys(b.all)) {
		all = append(all, Binding{d, b.all[d]})
	}
	return all
}

// put records a network; an empty id strikes it out.
func (b *bindings) put(dockerID, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := maps.Clone(b.all)
	changed[dockerID] = id
	if id == "" {
		delete(changed, dockerID)
	}
	text, err := json.MarshalIndent(changed, "", "\t")
	if err == nil {
		err = replace(b.path, text)
	}
	if err != nil {
		return heddle.Wrap(heddle.LedgerFull, "record Docker's networks in", b.path, err, "make room on that file system")
	}
	b.all = changed
	return nil
}

// replace writes a file so that it is there whole, before and after a crash.
func replace(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	aside := path + ".new"
	f, err := os.OpenFile(aside, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(aside, path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
