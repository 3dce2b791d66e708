package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

// queued lists the plugin's DELs that have waited for an agent for more than a minute.
func (h *Host) queued() (paths []string) {
	all, _ := filepath.Glob(filepath.Join(h.StateDir, "cni-queue", "*@*"))
	for _, path := range all {
		if st, err := os.Lstat(path); err == nil && time.Since(st.ModTime()) > time.Minute {
			paths = append(paths, path)
		}
	}
	return paths
}

// endpointOf reads an entry's name, CONTAINER@IFNAME.
func endpointOf(path string) heddle.EndpointID {
	container, ifname, _ := strings.Cut(filepath.Base(path), "@")
	return heddle.EndpointID{Container: container, IfName: ifname}
}

func lookCNIQueue(_ context.Context, h *Host) Finding {
	var evidence, remedy []string
	for _, path := range h.queued() {
		evidence, remedy = append(evidence, path), append(remedy, "heddle detach "+endpointOf(path).String()+" && rm "+path)
	}
	return trouble(evidence, remedy...)
}

// fixCNIQueue does what the agent does at its next CNI call. Without an agent the entries stay:
// they are the only record.
func fixCNIQueue(ctx context.Context, h *Host) (done []string, err error) {
	for _, path := range h.queued() {
		id := endpointOf(path)
		if err := id.Check(); err != nil {
			return done, err
		}
		if _, err := ask(ctx, h, func(c *client.Client, ctx context.Context) (bool, error) { return c.Detach(ctx, id) }); err != nil {
			return done, err
		}
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return done, err
		}
		done = append(done, "heddle detach "+id.String(), "rm "+path)
	}
	return done, nil
}
