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

// The kernel removes a virtual NIC together with its container's namespace, and moves a physical
// one to another namespace. So the agent holds the namespace open as a file while the NIC is in
// it.

// holds are the namespaces that the agent holds as files, and the NICs that NIC managers are
// told to ignore. They exist only on disk. The endpoint's lock guards what an endpoint has.
type holds struct {
	// files guards what is left of no endpoint as well: the file of a namespace, and by its MAC address what managers are told
	// of a NIC. An endpoint may be attached at that moment that has the same.
	files      keyed[atHolds, string]
	namespaces Namespaces
	lost       LostNICs
	log        *slog.Logger
	trip       tripwire
	records    *records
	// plugged reports whether a NIC with that MAC address was plugged in for an endpoint, or for the next one.
	plugged func(heddle.MAC) bool
	// unsure reports whether NICs may be plugged in that an earlier agent ordered, and this one does not know yet.
	unsure func() bool
	runDir string
	// root is the folder below which NIC managers have their runtime files; "/" if empty.
	root string
}

// nicCheckInterval is how often the agent looks at the containers that have a NIC.
const nicCheckInterval = time.Second

// alias returns the alias of the endpoint's interface in the container.
func (r record) alias() string {
	if r.Endpoint.NIC != nil {
		return r.Endpoint.ID.NICAlias(r.Endpoint.NIC.Name)
	}
	return r.Endpoint.ID.Alias()
}

func (h *holds) folder() string { return filepath.Join(h.runDir, "netns") }

func (h *holds) file(id heddle.EndpointID) string {
	sum := sha256.Sum256([]byte(id.String()))
	return filepath.Join(h.folder(), holdPrefix+hex.EncodeToString(sum[:8]))
}

// holdPrefix tells our files from others: the run folder may be /run, and ip-netns(8) has files in
// /run/netns.
const holdPrefix = "heddle-"

func (h *holds) managers() nic.Managers {
	if h.root == "" {
		return nic.Managers{Root: "/"}
	}
	return nic.Managers{Root: h.root}
}

// namespacePath returns the path by which the endpoint's namespace is opened. It is the agent's
// own file if the agent holds the namespace, since the container's path may be gone.
func (h *holds) namespacePath(r record) string {
	if r.Endpoint.NIC != nil {
		if held, err := h.namespaces.OpenPod(h.file(r.Endpoint.ID)); err == nil {
			held.Close()
			return h.file(r.Endpoint.ID)
		}
	}
	return r.Endpoint.Netns
}

// hold holds the namespace that is about to get a NIC, and tells the NIC managers to ignore the
// NIC.
func (h *holds) hold(r record, pod kernel.Pod) error {
	if r.Endpoint.NIC == nil {
		return nil
	}
	if err := h.trip.step("hold namespace"); err != nil {
		return err
	}
	if err := h.holdAt(r, pod); err != nil {
		return err
	}
	return h.keepOff(*r.Endpoint.NIC)
}

// keepOff tells the NIC managers to ignore a NIC. Its name is "" before it is known.
func (h *holds) keepOff(n heddle.NIC) error {
	if err := h.trip.step("keep managers off"); err != nil {
		return err
	}
	defer h.files.Lock(string(n.MAC))()
	return h.managers().Keep(n)
}

// holdAt holds the namespace, unless the NIC stays on the host until its engine takes it.
func (h *holds) holdAt(r record, pod kernel.Pod) error {
	defer h.files.Lock(h.file(r.Endpoint.ID))() // also then: bringHome may be at an earlier NIC of the ID
	if r.offered() {
		return nil
	}
	return pod.Hold(h.file(r.Endpoint.ID))
}

func (h *holds) releaseAt(file string) error {
	defer h.files.Lock(file)()
	return h.lost.Release(file)
}

// release undoes hold. The NIC is already back on the host.
func (h *holds) release(r record) error {
	if r.Endpoint.NIC == nil {
		return nil
	}
	if err := h.trip.step("release namespace"); err != nil {
		return err
	}
	if err := h.releaseAt(h.file(r.Endpoint.ID)); err != nil {
		return err
	}
	if r.Endpoint.NIC.Plugged != nil {
		return nil // managers are told when it has been taken out
	}
	if err := h.trip.step("let managers"); err != nil {
		return err
	}
	defer h.files.Lock(string(r.Endpoint.NIC.MAC))()
	return h.managers().Free(r.Endpoint.NIC.MAC)
}

// pathIsCurrent reports whether the container's path still leads to the namespace that was given
// the NIC.
func (h *holds) pathIsCurrent(r record) bool {
	pod, err := h.namespaces.OpenPod(r.Endpoint.Netns)
	if err != nil {
		return false
	}
	defer pod.Close()
	held, err := h.namespaces.OpenPod(h.file(r.Endpoint.ID))
	if err != nil {
		return r.Inode == pod.Inode()
	}
	defer held.Close()
	return held.Inode() == pod.Inode()
}

// holdAgain holds a living container's namespace again after somebody has removed the file.
func (h *holds) holdAgain(r record) error {
	pod, err := h.namespaces.OpenPod(r.Endpoint.Netns)
	if err != nil {
		return nil // it has ended meanwhile; the next check finds that
	}
	defer pod.Close()
	return h.holdAt(r, pod)
}

// watchNICs looks after the containers that have a NIC. When one has ended, its NIC is brought
// back at once.
func (a *Agent) watchNICs(ctx context.Context) {
	failed := map[heddle.EndpointID]string{}
	for ; ; pause(ctx, nicCheckInterval) {
		if ctx.Err() != nil {
			return
		}
		for _, h := range a.nics.all() {
			back, err := a.detachIfDead(h.by)
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

// detachIfDead detaches an endpoint whose container has ended.
func (a *Agent) detachIfDead(id heddle.EndpointID) (back bool, err error) {
	defer a.endpointLocks.Lock(id)()
	r, known := a.records.get(id)
	switch {
	case !known || r.Endpoint.NIC == nil || a.records.pendingOf(id) == intentAttach || r.offered():
		return false, nil // it may have left the NIC meanwhile, and be on another network
	case a.holds.pathIsCurrent(r):
		return false, a.holds.holdAgain(r)
	}
	defer a.activity.begin()()
	defer a.metrics.observe("detach", time.Now(), &err)
	return true, a.remove(r)
}
