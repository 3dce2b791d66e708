package door

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

// Queue is the folder in which the plugin leaves detaches while no agent answers: one empty file
// each, named CONTAINER@IFNAME. The doors of all runtimes that have the plugin share one.
type Queue struct {
	dir    string
	detach func(context.Context, heddle.EndpointID) (bool, error)
	log    *slog.Logger
	// mu makes a caller wait for the entries that another one is executing, so
	// that no attach overtakes a detach queued before it.
	mu sync.Mutex
}

// NewQueue returns the queue in a folder, after executing what was queued while no agent ran.
func NewQueue(dir string, detach func(context.Context, heddle.EndpointID) (bool, error), log *slog.Logger) *Queue {
	q := &Queue{dir: dir, detach: detach, log: log}
	q.Drain(context.Background())
	return q
}

// Drain executes the queued detaches. One that fails stays queued and is returned.
func (q *Queue) Drain(ctx context.Context) (failed Undone) {
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
			q.log.Info("queued detach executed", "endpoint", id, "found", found)
			continue
		}
		q.log.Error("queued detach failed", "endpoint", id, "error", err)
		if failed == nil {
			failed = Undone{}
		}
		failed[id] = err
	}
	return failed
}

// names lists the folder; one that is not there is empty.
func (q *Queue) names() []string {
	folder, err := os.Open(q.dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			q.log.Error("queue of detaches not readable", "error", err)
		}
		return nil
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		q.log.Error("queue of detaches not readable", "error", err)
	}
	return names
}

// Undone are the queued detaches that failed.
type Undone map[heddle.EndpointID]error

// Attachable returns why an endpoint must not be attached before its queued detach has succeeded.
func (u Undone) Attachable(id heddle.EndpointID) error {
	err := u[id]
	if err == nil {
		return nil
	}
	return heddle.Errorf(heddle.KernelRefused, "attach endpoint", id.String(),
		"the detach queued before failed: "+heddle.SentenceOf(err), heddle.FirstRemedy(err, "then try again"))
}
