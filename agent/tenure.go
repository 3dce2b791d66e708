package agent

import (
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// parent is the host's interface that the endpoint's device stands on; "" if its link
// is of another kind.
func (r record) parent() string {
	for _, l := range append(slices.Clone(r.Plan.Pod.Links), r.Plan.Host.Links...) {
		// the host's own device beside the containers is not the endpoint's
		if l.Parent != "" && (l.Name == r.Endpoint.Interface() || l.Name == r.handName()) {
			return l.Parent
		}
	}
	return ""
}

// noteBeside notes whose MAC addresses are on the parent already, besides those of
// endpoints: somebody's of the user's, who does not go with this one.
func (a *Agent) noteBeside(r *record) error {
	if r.parent() == "" {
		return nil
	}
	heard, err := a.kernel.Heard(r.parent())
	if err != nil {
		return err
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	ours := map[heddle.MAC]bool{}
	for _, other := range a.endpoints {
		ours[other.Endpoint.MAC] = true
	}
	r.Beside = slices.DeleteFunc(heard, func(mac heddle.MAC) bool { return ours[mac] })
	return nil
}

// noteDevice records the number of the endpoint's device on a parent, which has just
// been made or found whole. The caller holds the endpoint's lock.
func (a *Agent) noteDevice(id heddle.EndpointID, pod *kernel.Netns) error {
	r, known := a.lookup(id)
	if !known || pod == nil || r.parent() == "" {
		return nil
	}
	index, err := a.kernel.DeviceOn(r.parent(), r.alias(), r.Device, pod)
	if err != nil || index == 0 || index == r.Device {
		return err
	}
	r.Device = index
	if err := a.ledger.putRecord(r); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endpoints[id] = r
	return nil
}

// evict takes an endpoint's container off its parent's LAN.
func (a *Agent) evict(r record, pod *kernel.Netns) error {
	if r.parent() == "" || r.Endpoint.NIC != nil {
		return nil
	}
	if pod == nil && r.Inode != 0 {
		var err error
		if pod, err = a.podOf(r); err != nil {
			return err
		}
		if pod != nil {
			defer pod.Close()
		}
	}
	known := a.devices()
	delete(known, r.device())
	return a.kernel.Evict(kernel.Tenure{Parent: r.parent(), MAC: r.Endpoint.MAC, Addrs: r.Endpoint.Addrs, Before: r.Beside,
		Known: func(cookie uint64, index int) bool { _, is := known[device{r.parent(), cookie, index}]; return is }}, pod)
}

// device is a container's device on a parent: that one's name, its namespace's cookie, and
// its number there.
type device struct {
	parent string
	cookie uint64
	index  int
}

func (r record) device() device { return device{r.parent(), r.Cookie, r.Device} }

// devices are those of all endpoints on parents.
func (a *Agent) devices() map[device]heddle.EndpointID {
	a.mu.RLock()
	defer a.mu.RUnlock()
	all := map[device]heddle.EndpointID{}
	for id, r := range a.endpoints {
		if r.Device != 0 {
			all[r.device()] = id
		}
	}
	return all
}

// tenants finds devices that containers have made for themselves on a parent beside the
// one that they were given.
func (a *Agent) tenants() ([]heddle.Finding, error) {
	known, parents, containers := a.devices(), map[string]bool{}, map[uint64]heddle.EndpointID{}
	a.mu.RLock()
	for id, r := range a.endpoints {
		if r.parent() != "" && a.pending[id] == "" && !r.offered() {
			parents[r.parent()], containers[r.Cookie] = true, id
		}
	}
	a.mu.RUnlock()
	var all []heddle.Finding
	var errs []error
	for parent := range parents {
		there, err := a.kernel.Tenants(parent)
		errs = append(errs, err)
		for _, x := range there {
			id, inside := containers[x.Cookie]
			if _, is := known[device{parent, x.Cookie, x.Index}]; inside && !is {
				all = append(all, heddle.Finding{Kind: "stranger", Object: "link/" + x.Name, Owner: id.String(),
					Detail: "the container has made another " + x.Kind + " device on " + parent + ", and is on its LAN by that too; it goes when the container is detached"})
			}
		}
	}
	return all, errors.Join(errs...)
}
