package agent

import (
	"errors"
	"log/slog"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// lanDevices keeps track of the devices that endpoints have on a parent's LAN: the endpoint's own,
// whose interface index is in its record, and others that its container has made.
type lanDevices struct {
	kernel   LAN
	ledger   *ledger
	log      *slog.Logger
	networks *register
	records  *records
	dhcp     *dhcpLeases

	endpointLocks *keyed[atIDs, heddle.EndpointID]
}

// parent is the host's interface under the endpoint's device; "" if its link is of another kind.
func (r record) parent() string {
	for _, l := range append(slices.Clone(r.Plan.Pod.Links), r.Plan.Host.Links...) {
		// the host's own device on the parent is not the endpoint's
		if l.Parent != "" && (l.Name == r.Endpoint.Interface() || l.Name == r.handoverName()) {
			return l.Parent
		}
	}
	return ""
}

// noteParent notes the parent's interface index and the MAC addresses that are already on the
// parent: those of the host and of the user's own devices, which stay when this endpoint is
// removed. It leaves out those of endpoints and of devices that their containers have made.
func (e *lanDevices) noteParent(r *record) (err error) {
	if r.parent() == "" {
		return nil
	}
	if r.OtherMACs, r.ParentIndex, err = e.kernel.Heard(r.parent()); err != nil {
		return err
	}
	r.OtherMACs = slices.DeleteFunc(r.OtherMACs, func(mac heddle.MAC) bool { return e.records.hasMAC(mac) || e.dhcp.asksAs(mac) })
	if len(r.OtherMACs) == 0 {
		return nil
	}
	theirs, err := e.kernel.MACsOfContainers(r.parent(), r.OtherMACs, e.records.hasContainer)
	if err != nil {
		return err
	}
	// look again and drop addresses that are no longer there: a device may have changed its own
	still, _, err := e.kernel.Heard(r.parent())
	r.OtherMACs = slices.DeleteFunc(r.OtherMACs, func(mac heddle.MAC) bool {
		return slices.Contains(theirs, mac) || !slices.Contains(still, mac)
	})
	return err
}

// noteDevice records the index of the endpoint's device on a parent. The device was just made or
// found complete.
func (e *lanDevices) noteDevice(id heddle.EndpointID, pod kernel.Pod) error {
	e.endpointLocks.mustHold(id)
	r, known := e.records.get(id)
	if !known || pod == nil || r.parent() == "" {
		return nil
	}
	index, err := e.kernel.DeviceOn(r.parent(), r.alias(), r.Device, pod)
	if err != nil || index == 0 || index == r.Device {
		return err
	}
	r.Device = index
	if err := e.ledger.putRecord(r); err != nil {
		return err
	}
	e.records.put(r)
	return nil
}

// removeFromLAN removes an endpoint's container from its parent's LAN.
func (e *lanDevices) removeFromLAN(r record, pod kernel.Pod) error {
	if r.parent() == "" || r.Endpoint.NIC != nil {
		return nil
	}
	known := e.records.lanDevices()
	anothers := func(other record) bool { return other.Endpoint.ID != r.Endpoint.ID && other.sameParent(r) }
	return e.kernel.Evict(kernel.Tenure{Parent: r.parent(), Number: r.ParentIndex, MAC: r.Endpoint.MAC,
		Addrs: r.Endpoint.Addrs, Before: r.OtherMACs,
		Asked: func(mac heddle.MAC) bool { return e.dhcp.asksAs(mac) && !e.records.hasMAC(mac) },
		Known: func(cookie uint64, index int) bool {
			at := device{cookie, index}
			return slices.ContainsFunc(known[at], anothers) ||
				len(e.records.filter(func(x record, _ string) bool { return (device{x.Cookie, x.Device}) == at && anothers(x) })) > 0 // it has come since
		}}, pod)
}

// device is a container's device on a parent: its namespace's cookie, and its interface index
// there.
type device struct {
	cookie uint64
	index  int
}

// sameParent reports whether both endpoints are on one parent, even if the parent was renamed.
func (r record) sameParent(other record) bool {
	if r.ParentIndex != 0 && other.ParentIndex != 0 {
		return r.ParentIndex == other.ParentIndex
	}
	return r.parent() == other.parent()
}

// extraDevices finds devices on a parent that containers have made in addition to the one that
// they were given.
func (e *lanDevices) extraDevices() ([]heddle.Finding, error) {
	known, parents, containers := e.records.lanDevices(), map[string]bool{}, map[uint64]heddle.EndpointID{}
	e.records.each(func(r record, op string) {
		if r.parent() != "" && op == "" && !r.offered() {
			parents[r.parent()], containers[r.Cookie] = true, r.Endpoint.ID
		}
	})
	var all []heddle.Finding
	var errs []error
	for parent := range parents {
		there, err := e.kernel.Tenants(parent)
		errs = append(errs, err)
		for _, x := range there {
			id, inside := containers[x.Cookie]
			is := slices.ContainsFunc(known[device{x.Cookie, x.Index}], func(r record) bool { return r.parent() == parent })
			if inside && !is {
				all = append(all, heddle.Finding{Kind: "stranger", Object: "link/" + x.Name, Owner: id.String(),
					Detail: "the container has made another " + x.Kind + " device on " + parent + ", and is on its LAN by that too; it goes when the container is detached", Remedy: remedyStranger})
			}
		}
	}
	return all, errors.Join(errs...)
}

// announce tells a LAN which MAC has the addresses now. The endpoint is already made, so a failure
// is only logged.
func (e *lanDevices) announce(of heddle.Endpoint, pod kernel.Pod) {
	n, err := e.networks.ofEndpoint(of)
	if err != nil {
		return
	}
	if _, guest := n.mode.(heddle.LANMode); !guest || pod == nil || of.ProgramDrives() {
		return // a program announces itself
	}
	if err := e.kernel.Announce(pod, of.Interface(), of.MAC, of.Addrs); err != nil {
		e.log.Warn("addresses not announced", "endpoint", of.ID, "error", err)
	}
}
