package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/nic"
)

// A NIC dies with its container's namespace, or (a physical one) lands in
// another. So the agent holds the namespace from before the NIC goes in until
// after it has come out.

// holds are the namespaces that the agent holds as files, and the NICs that NIC managers are
// told to ignore. They exist only on disk; the endpoint's lock guards each of them.
type holds struct {
	namespaces Namespaces
	lost       LostNICs
	log        *slog.Logger
	trip       tripwire
	roll       *roll
	runDir     string
	// root is the folder below which NIC managers have their runtime files; "/" if empty.
	root string
}

// vigilEvery is how often the containers that have a NIC are looked at.
const vigilEvery = time.Second

// alias returns the alias of the endpoint's interface in the container.
func (r record) alias() string {
	if r.Endpoint.NIC != nil {
		return r.Endpoint.ID.NICAlias(r.Endpoint.NIC.Name)
	}
	return r.Endpoint.ID.Alias()
}

func (h *holds) folder() string { return filepath.Join(h.runDir, "netns") }

func (h *holds) of(id heddle.EndpointID) string {
	sum := sha256.Sum256([]byte(id.String()))
	return filepath.Join(h.folder(), holdPrefix+hex.EncodeToString(sum[:8]))
}

// holdPrefix tells our files from others: the run folder may be /run, where
// ip-netns(8) has its own.
const holdPrefix = "heddle-"

func (h *holds) managers() nic.Managers {
	if h.root == "" {
		return nic.Managers{Root: "/"}
	}
	return nic.Managers{Root: h.root}
}

// wayInto returns the path by which the endpoint's namespace is entered. It is the agent's
// own file if the agent holds the namespace, since the container's path may be gone.
func (h *holds) wayInto(r record) string {
	if r.Endpoint.NIC != nil {
		if held, err := h.namespaces.OpenPod(h.of(r.Endpoint.ID)); err == nil {
			held.Close()
			return h.of(r.Endpoint.ID)
		}
	}
	return r.Endpoint.Netns
}

// begin holds the namespace that is about to get a NIC, and tells the NIC
// managers to leave it alone.
func (h *holds) begin(r record, pod kernel.Pod) error {
	if r.Endpoint.NIC == nil {
		return nil
	}
	if err := h.trip.step("hold namespace"); err != nil {
		return err
	}
	if !r.offered() {
		if err := pod.Hold(h.of(r.Endpoint.ID)); err != nil {
			return err
		}
	}
	if err := h.trip.step("keep managers off"); err != nil {
		return err
	}
	return h.managers().Keep(*r.Endpoint.NIC)
}

// end undoes begin. The NIC is already back on the host.
func (h *holds) end(r record) error {
	if r.Endpoint.NIC == nil {
		return nil
	}
	if err := h.trip.step("release namespace"); err != nil {
		return err
	}
	if err := h.lost.Release(h.of(r.Endpoint.ID)); err != nil {
		return err
	}
	if err := h.trip.step("let managers"); err != nil {
		return err
	}
	return h.managers().Free(r.Endpoint.NIC.MAC)
}

// leadsThere reports whether the container's own path still leads to the
// namespace that was given the NIC.
func (h *holds) leadsThere(r record) bool {
	pod, err := h.namespaces.OpenPod(r.Endpoint.Netns)
	if err != nil {
		return false
	}
	defer pod.Close()
	held, err := h.namespaces.OpenPod(h.of(r.Endpoint.ID))
	if err != nil {
		return r.Inode == pod.Inode()
	}
	defer held.Close()
	return held.Inode() == pod.Inode()
}

// again restores the hold on a living container's namespace after somebody has removed it.
func (h *holds) again(r record) error {
	pod, err := h.namespaces.OpenPod(r.Endpoint.Netns)
	if err != nil {
		return nil // it has died since; the next look finds that
	}
	defer pod.Close()
	return pod.Hold(h.of(r.Endpoint.ID))
}

// vigil looks after the containers that have a NIC: when one has died, its NIC
// is brought back at once.
func (a *Agent) vigil(ctx context.Context) {
	failed := map[heddle.EndpointID]string{}
	for ; ; pause(ctx, vigilEvery) {
		if ctx.Err() != nil {
			return
		}
		for _, h := range a.nics.all() {
			back, err := a.bringBack(h.by)
			switch {
			case err == nil && back:
				a.log.Info("container died; its NIC is back", "endpoint", h.by, "nic", h.name, "mac", h.mac)
				delete(failed, h.by)
			case err != nil && failed[h.by] != err.Error():
				what := "namespace of a NIC is not held again"
				if back {
					what = "container died; its NIC is not back as it was"
				}
				a.log.Error(what, "endpoint", h.by, "nic", h.name, "error", err)
				failed[h.by] = err.Error()
			}
		}
	}
}

// bringBack detaches an endpoint whose container has died.
func (a *Agent) bringBack(id heddle.EndpointID) (back bool, err error) {
	defer a.ids.Lock(id)()
	r, known := a.roll.get(id)
	switch {
	case !known || a.roll.pendingOf(id) == intentAttach || r.offered():
		return false, nil
	case a.holds.leadsThere(r):
		return false, a.holds.again(r)
	}
	defer a.activity.begin()()
	defer a.metrics.observe("detach", time.Now(), &err)
	return true, a.remove(r)
}
