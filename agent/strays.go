package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// strayHolds lists the held namespaces of no recorded endpoint.
func (h *holds) strayHolds() []string {
	// listed first: a namespace is held after its endpoint is recorded
	entries, _ := os.ReadDir(h.folder()) // the folder may not exist
	wanted := h.wantedFiles()
	var all []string
	for _, e := range entries {
		if path := filepath.Join(h.folder(), e.Name()); !wanted[path] && strings.HasPrefix(e.Name(), holdPrefix) {
			all = append(all, path)
		}
	}
	return all
}

// wantedFiles are those of the recorded endpoints.
func (h *holds) wantedFiles() map[string]bool {
	wanted := map[string]bool{}
	h.records.each(func(r record, _ string) {
		if r.Endpoint.NIC != nil {
			wanted[h.file(r.Endpoint.ID)] = true
		}
	})
	return wanted
}

// strayFiles lists the NICs that managers are told to ignore and that no endpoint has.
func (h *holds) strayFiles() []heddle.MAC {
	if h.unsure() { // NICs that wait have no records
		return nil
	}
	kept := h.managers().Kept() // listed first: managers are told after the endpoint is recorded
	wanted := h.wantedNICs()
	var all []heddle.MAC
	for _, mac := range kept {
		if !wanted[mac] && !h.plugged(mac) {
			all = append(all, mac)
		}
	}
	return all
}

// wantedNICs are those of the recorded endpoints.
func (h *holds) wantedNICs() map[heddle.MAC]bool {
	wanted := map[heddle.MAC]bool{}
	h.records.each(func(r record, _ string) {
		if r.Endpoint.NIC != nil {
			wanted[r.Endpoint.NIC.MAC] = true
		}
	})
	return wanted
}

// listStrays finds what is left of endpoints that had a NIC.
func (h *holds) listStrays() []heddle.Finding {
	var all []heddle.Finding
	for _, path := range h.strayHolds() {
		all = append(all, heddle.Finding{Kind: "leftover", Object: "hold/" + path,
			Detail: "a namespace held for no endpoint", Remedy: remedyGC})
	}
	for _, mac := range h.strayFiles() {
		h.files.Lock(string(mac))() // managers may be about to be told that they may have it
	}
	for _, mac := range h.strayFiles() {
		all = append(all, heddle.Finding{Kind: "leftover", Object: "managers/" + string(mac),
			Detail: "NIC managers are told to leave it alone, for no endpoint", Remedy: remedyGC})
	}
	lost, err := h.lost.MarkedNICs()
	if err != nil {
		h.log.Error("NICs not looked at", "error", err)
	}
	for _, l := range lost {
		if l.Endpoint == "" {
			all = append(all, heddle.Finding{Kind: "differs", Object: "nic/" + l.Name,
				Detail: "it was " + l.Was + ", and that name was taken when it came back",
				Remedy: "rename it and remove its alias ('ip link set " + l.Name + " alias \"\"')"})
		} else if !h.inTransit(l) {
			all = append(all, heddle.Finding{Kind: "leftover", Object: "nic/" + l.Name, Owner: l.Endpoint,
				Detail: "it was " + l.Was + " and did not come back whole", Remedy: remedyGC})
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
	_, known := h.records.get(id)
	return known
}

// removeStrays removes what listStrays finds. NICs without a record get their names back, because
// nothing else is known about them.
func (h *holds) removeStrays() (removed []string, err error) {
	var errs []error
	for _, path := range h.strayHolds() {
		done, err := h.endStrayHold(path)
		if done {
			removed = append(removed, "hold/"+path)
		}
		errs = append(errs, err)
	}
	lost, err := h.lost.MarkedNICs()
	errs = append(errs, err)
	for _, l := range lost {
		done, err := h.bringHome(l)
		if done {
			removed = append(removed, "nic/"+l.Name)
		}
		errs = append(errs, err)
	}
	for _, mac := range h.strayFiles() {
		done, err := h.freeStray(mac)
		if done {
			removed = append(removed, "managers/"+string(mac))
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// endStrayHold ends a hold, unless an endpoint has been attached whose hold it is now.
func (h *holds) endStrayHold(path string) (done bool, err error) {
	defer h.files.Lock(path)()
	if h.wantedFiles()[path] {
		return false, nil
	}
	nics, err := h.lost.Rescue(path)
	for _, name := range nics {
		h.log.Warn("a NIC without a record is back under its name, without its addresses and routes", "nic", name)
	}
	if err == nil {
		err = h.lost.Release(path)
	}
	return err == nil, err
}

// freeStray tells managers of a NIC that they may have it, unless an endpoint has been attached that has it now.
func (h *holds) freeStray(mac heddle.MAC) (done bool, err error) { return h.freeOnce(mac, func() {}) }

// freeOnce is freeStray, once forget is called. Nobody sees the NIC forgotten and not free.
func (h *holds) freeOnce(mac heddle.MAC, forget func()) (done bool, err error) {
	defer h.files.Lock(string(mac))()
	forget()
	if h.wantedNICs()[mac] || h.plugged(mac) {
		return false, nil
	}
	err = h.managers().Free(mac)
	return err == nil, err
}

// bringHome completes the return of a NIC of no endpoint. An endpoint that is being attached by the same ID is
// recorded first, and then waits for this (hold).
func (h *holds) bringHome(l kernel.MarkedNIC) (done bool, err error) {
	if l.Endpoint == "" {
		return false, nil // its name was taken when it came back
	}
	id, _ := heddle.ParseEndpointID(l.Endpoint)
	defer h.files.Lock(h.file(id))()
	if h.inTransit(l) {
		return false, nil
	}
	err = h.lost.RescueHere(l)
	return err == nil, err
}
