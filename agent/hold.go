package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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

// vigilEvery is how often the containers that have a NIC are looked at.
const vigilEvery = time.Second

// alias is that of the endpoint's interface in the container.
func (r record) alias() string {
	if r.Endpoint.NIC != nil {
		return r.Endpoint.ID.NICAlias(r.Endpoint.NIC.Name)
	}
	return r.Endpoint.ID.Alias()
}

func (a *Agent) holds() string { return filepath.Join(a.opt.RunDir, "netns") }

func (a *Agent) holdOf(id heddle.EndpointID) string {
	h := sha256.Sum256([]byte(id.String()))
	return filepath.Join(a.holds(), holdPrefix+hex.EncodeToString(h[:8]))
}

// holdPrefix tells our files from others: the run folder may be /run, where
// ip-netns(8) has its own.
const holdPrefix = "heddle-"

func (a *Agent) managers() nic.Managers {
	if a.opt.Root == "" {
		return nic.Managers{Root: "/"}
	}
	return nic.Managers{Root: a.opt.Root}
}

// wayInto is the path by which the endpoint's namespace is entered: the agent's
// own if it holds it, since the container's may be gone.
func (a *Agent) wayInto(r record) string {
	if r.Endpoint.NIC != nil {
		if held, err := kernel.OpenNetns(a.holdOf(r.Endpoint.ID)); err == nil {
			held.Close()
			return a.holdOf(r.Endpoint.ID)
		}
	}
	return r.Endpoint.Netns
}

// hold holds the namespace that is about to get a NIC, and tells the NIC
// managers to leave it alone.
func (a *Agent) hold(r record, pod *kernel.Netns) error {
	if r.Endpoint.NIC == nil {
		return nil
	}
	if err := a.trip.step("hold namespace"); err != nil {
		return err
	}
	if !r.offered() {
		if err := pod.Hold(a.holdOf(r.Endpoint.ID)); err != nil {
			return err
		}
	}
	if err := a.trip.step("keep managers off"); err != nil {
		return err
	}
	return a.managers().Keep(*r.Endpoint.NIC)
}

// letGo ends what hold began. The NIC is back by then.
func (a *Agent) letGo(r record) error {
	if r.Endpoint.NIC == nil {
		return nil
	}
	if err := a.trip.step("release namespace"); err != nil {
		return err
	}
	if err := kernel.Release(a.holdOf(r.Endpoint.ID)); err != nil {
		return err
	}
	if err := a.trip.step("let managers"); err != nil {
		return err
	}
	return a.managers().Free(r.Endpoint.NIC.MAC)
}

// leadsThere reports whether the container's own path still leads to the
// namespace that was given the NIC.
func (a *Agent) leadsThere(r record) bool {
	pod, err := kernel.OpenNetns(r.Endpoint.Netns)
	if err != nil {
		return false
	}
	defer pod.Close()
	held, err := kernel.OpenNetns(a.holdOf(r.Endpoint.ID))
	if err != nil {
		return r.Inode == pod.Inode()
	}
	defer held.Close()
	return held.Same(pod)
}

// holdAgain holds a living container's namespace whose hold somebody has undone.
func (a *Agent) holdAgain(r record) error {
	pod, err := kernel.OpenNetns(r.Endpoint.Netns)
	if err != nil {
		return nil // it has died since; the next look finds that
	}
	defer pod.Close()
	return pod.Hold(a.holdOf(r.Endpoint.ID))
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
	case a.leadsThere(r):
		return false, a.holdAgain(r)
	}
	defer a.work()()
	defer a.metrics.observe("detach", time.Now(), &err)
	return true, a.remove(r)
}

// strayHolds lists the holds of no recorded endpoint.
func (a *Agent) strayHolds() []string {
	// listed first: what is held is recorded before
	entries, _ := os.ReadDir(a.holds()) // none if there never was one
	wanted := map[string]bool{}
	a.roll.each(func(r record, _ string) {
		if r.Endpoint.NIC != nil {
			wanted[filepath.Base(a.holdOf(r.Endpoint.ID))] = true
		}
	})
	var all []string
	for _, e := range entries {
		if !wanted[e.Name()] && strings.HasPrefix(e.Name(), holdPrefix) {
			all = append(all, filepath.Join(a.holds(), e.Name()))
		}
	}
	return all
}

// strayFiles lists the NICs that managers are kept off and no endpoint has.
func (a *Agent) strayFiles() []heddle.MAC {
	kept := a.managers().Kept()
	wanted := map[heddle.MAC]bool{}
	a.roll.each(func(r record, _ string) {
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
func (a *Agent) strays() []heddle.Finding {
	var all []heddle.Finding
	for _, path := range a.strayHolds() {
		all = append(all, heddle.Finding{Kind: "leftover", Object: "hold/" + path, Detail: "a namespace held for no endpoint"})
	}
	for _, mac := range a.strayFiles() {
		all = append(all, heddle.Finding{Kind: "leftover", Object: "managers/" + string(mac), Detail: "NIC managers are told to leave it alone, for no endpoint"})
	}
	lost, err := a.kernel.MarkedNICs()
	if err != nil {
		a.log.Error("NICs not looked at", "error", err)
	}
	for _, l := range lost {
		if l.Endpoint == "" {
			all = append(all, heddle.Finding{Kind: "differs", Object: "nic/" + l.Name, Detail: "it was " + l.Was + ", and that name was taken when it came back; rename it and remove its alias ('ip link set " + l.Name + " alias \"\"')"})
		} else if !a.inTransit(l) {
			all = append(all, heddle.Finding{Kind: "leftover", Object: "nic/" + l.Name, Owner: l.Endpoint, Detail: "it was " + l.Was + " and did not come back whole"})
		}
	}
	return all
}

// inTransit reports whether a NIC on the host is on its way to or from an
// endpoint.
func (a *Agent) inTransit(l kernel.MarkedNIC) bool {
	id, err := heddle.ParseEndpointID(l.Endpoint)
	if err != nil {
		return false
	}
	_, known := a.roll.get(id)
	return known
}

// sweep removes what strays finds; NICs without a record get their names back,
// which is all that is known of them.
func (a *Agent) sweep() (removed []string, err error) {
	var errs []error
	for _, path := range a.strayHolds() {
		nics, err := a.kernel.Rescue(path)
		for _, name := range nics {
			a.log.Warn("a NIC without a record is back under its name, without its addresses and routes", "nic", name)
		}
		if err == nil {
			err = kernel.Release(path)
		}
		if err == nil {
			removed = append(removed, "hold/"+path)
		}
		errs = append(errs, err)
	}
	lost, err := a.kernel.MarkedNICs()
	errs = append(errs, err)
	for _, l := range lost {
		if l.Endpoint != "" && !a.inTransit(l) {
			errs = append(errs, a.kernel.RescueHere(l))
			removed = append(removed, "nic/"+l.Name)
		}
	}
	for _, mac := range a.strayFiles() {
		err := a.managers().Free(mac)
		if err == nil {
			removed = append(removed, "managers/"+string(mac))
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}
