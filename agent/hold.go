package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/nic"
)

// A NIC dies with its container's namespace, or (a physical one) lands in
// another. So the agent holds the namespace from before the NIC goes in until
// after it has come out.

// holds are the namespaces that the agent holds, as files, and the NICs that NIC managers
// are kept off. They are on the disk alone: whoever has an endpoint's lock changes its own.
type holds struct {
	kernel *kernel.Kernel
	log    *slog.Logger
	trip   tripwire
	roll   *roll
	runDir string
	// root is the folder below which NIC managers have their runtime files; "/" if empty.
	root string
}

// vigilEvery is how often the containers that have a NIC are looked at.
const vigilEvery = time.Second

// alias is that of the endpoint's interface in the container.
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

// wayInto is the path by which the endpoint's namespace is entered: the agent's
// own if it holds it, since the container's may be gone.
func (h *holds) wayInto(r record) string {
	if r.Endpoint.NIC != nil {
		if held, err := kernel.OpenNetns(h.of(r.Endpoint.ID)); err == nil {
			held.Close()
			return h.of(r.Endpoint.ID)
		}
	}
	return r.Endpoint.Netns
}

// begin holds the namespace that is about to get a NIC, and tells the NIC
// managers to leave it alone.
func (h *holds) begin(r record, pod *kernel.Netns) error {
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

// end ends what begin began. The NIC is back by then.
func (h *holds) end(r record) error {
	if r.Endpoint.NIC == nil {
		return nil
	}
	if err := h.trip.step("release namespace"); err != nil {
		return err
	}
	if err := kernel.Release(h.of(r.Endpoint.ID)); err != nil {
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
	pod, err := kernel.OpenNetns(r.Endpoint.Netns)
	if err != nil {
		return false
	}
	defer pod.Close()
	held, err := kernel.OpenNetns(h.of(r.Endpoint.ID))
	if err != nil {
		return r.Inode == pod.Inode()
	}
	defer held.Close()
	return held.Same(pod)
}

// again holds a living container's namespace whose hold somebody has undone.
func (h *holds) again(r record) error {
	pod, err := kernel.OpenNetns(r.Endpoint.Netns)
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

// strayHolds lists the holds of no recorded endpoint.
func (h *holds) strayHolds() []string {
	// listed first: what is held is recorded before
	entries, _ := os.ReadDir(h.folder()) // none if there never was one
	wanted := map[string]bool{}
	h.roll.each(func(r record, _ string) {
		if r.Endpoint.NIC != nil {
			wanted[filepath.Base(h.of(r.Endpoint.ID))] = true
		}
	})
	var all []string
	for _, e := range entries {
		if !wanted[e.Name()] && strings.HasPrefix(e.Name(), holdPrefix) {
			all = append(all, filepath.Join(h.folder(), e.Name()))
		}
	}
	return all
}

// strayFiles lists the NICs that managers are kept off and no endpoint has.
func (h *holds) strayFiles() []heddle.MAC {
	kept := h.managers().Kept()
	wanted := map[heddle.MAC]bool{}
	h.roll.each(func(r record, _ string) {
		if r.Endpoint.NIC != nil {
			wanted[r.Endpoint.NIC.MAC] = true
		}
	})
	var all []heddle.MAC
	for _, mac := range kept {
		if !wanted[mac] {
			all = append(all, mac)
		}
	}
	return all
}

// strays finds what is left of endpoints that had a NIC.
func (h *holds) strays() []heddle.Finding {
	var all []heddle.Finding
	for _, path := range h.strayHolds() {
		all = append(all, heddle.Finding{Kind: "leftover", Object: "hold/" + path, Detail: "a namespace held for no endpoint"})
	}
	for _, mac := range h.strayFiles() {
		all = append(all, heddle.Finding{Kind: "leftover", Object: "managers/" + string(mac), Detail: "NIC managers are told to leave it alone, for no endpoint"})
	}
	lost, err := h.kernel.MarkedNICs()
	if err != nil {
		h.log.Error("NICs not looked at", "error", err)
	}
	for _, l := range lost {
		if l.Endpoint == "" {
			all = append(all, heddle.Finding{Kind: "differs", Object: "nic/" + l.Name, Detail: "it was " + l.Was + ", and that name was taken when it came back; rename it and remove its alias ('ip link set " + l.Name + " alias \"\"')"})
		} else if !h.inTransit(l) {
			all = append(all, heddle.Finding{Kind: "leftover", Object: "nic/" + l.Name, Owner: l.Endpoint, Detail: "it was " + l.Was + " and did not come back whole"})
		}
	}
	return all
}

// inTransit reports whether a NIC on the host is on its way to or from an
// endpoint.
func (h *holds) inTransit(l kernel.MarkedNIC) bool {
	id, err := heddle.ParseEndpointID(l.Endpoint)
	if err != nil {
		return false
	}
	_, known := h.roll.get(id)
	return known
}

// sweep removes what strays finds; NICs without a record get their names back,
// which is all that is known of them.
func (h *holds) sweep() (removed []string, err error) {
	var errs []error
	for _, path := range h.strayHolds() {
		nics, err := h.kernel.Rescue(path)
		for _, name := range nics {
			h.log.Warn("a NIC without a record is back under its name, without its addresses and routes", "nic", name)
		}
		if err == nil {
			err = kernel.Release(path)
		}
		if err == nil {
			removed = append(removed, "hold/"+path)
		}
		errs = append(errs, err)
	}
	lost, err := h.kernel.MarkedNICs()
	errs = append(errs, err)
	for _, l := range lost {
		if l.Endpoint != "" && !h.inTransit(l) {
			errs = append(errs, h.kernel.RescueHere(l))
			removed = append(removed, "nic/"+l.Name)
		}
	}
	for _, mac := range h.strayFiles() {
		err := h.managers().Free(mac)
		if err == nil {
			removed = append(removed, "managers/"+string(mac))
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}
