package cni

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/heddle-network/heddle"
)

// queue is the folder in which the plugin leaves a DEL while no agent answers:
// one empty file each, named CONTAINER@IFNAME.
type queue struct {
	dir    string
	detach func(context.Context, heddle.EndpointID) (bool, error)
	log    *slog.Logger
	// mu makes a caller wait for the entries that another one is executing, so
	// that no ADD overtakes a DEL queued before it.
	mu sync.Mutex
}

// drain executes the queued DELs. One that fails stays queued and is returned.
func (q *queue) drain(ctx context.Context) (failed map[heddle.EndpointID]error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range q.names() {
		container, ifname, _ := strings.Cut(name, "@")
		id := heddle.EndpointID{Container: container, IfName: ifname}
		if id.Check() != nil {
			continue // not the plugin's
		}
		found, err := q.detach(ctx, id)
		if err == nil {
			err = os.Remove(filepath.Join(q.dir, name))
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			q.log.Info("queued DEL executed", "endpoint", id, "found", found)
			continue
		}
		q.log.Error("queued DEL failed", "endpoint", id, "error", err)
		if failed == nil {
			failed = map[heddle.EndpointID]error{}
		}
		failed[id] = err
	}
	return failed
}

// names lists the folder; one that is not there is empty.
func (q *queue) names() []string {
	folder, err := os.Open(q.dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			q.log.Error("queue of DELs not readable", "error", err)
		}
		return nil
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		q.log.Error("queue of DELs not readable", "error", err)
	}
	return names
}
