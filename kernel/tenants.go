package kernel

import (
	"slices"

	"github.com/heddle-network/heddle"
)

// Tenant is a device on a parent interface of the host, in some namespace.
type Tenant struct {
	// Cookie identifies its namespace; Index is its index there.
	Cookie uint64
	Index  int
	Name   string
	Kind   string
}

// Tenants lists the macvlan and ipvlan devices on a parent that are not in the host's
// own namespace.
func (k *Kernel) Tenants(parent string) ([]Tenant, error) {
	l, err := k.listing().link(parent)
	if err != nil || l == nil {
		return nil, refused("read interface", parent, err)
	}
	all, err := allNamespaces()
	if err != nil {
		return nil, err
	}
	defer all.close()
	var found []Tenant
	for _, u := range stackedOn(all.stackedInterfaces(k.home), k.home, l.index) {
		if u.ns.Same(k.home) || !u.onLAN() {
			continue
		}
		if u.cookie != 0 {
			found = append(found, Tenant{u.cookie, u.index, u.name, u.kind})
		}
	}
	return found, nil
}

// MACsOfContainers lists the MAC addresses among the given ones that devices of containers have on
// a parent, or may have. Such a device is in a container's namespace, in one that the container's
// users made, or in one that the container's namespace leads to. Inside reports, by its cookie,
// whether a namespace is a container's. There is no search if devices of the host on that parent
// have all the addresses.
func (k *Kernel) MACsOfContainers(parent string, among []heddle.MAC, inside func(cookie uint64) bool) (found []heddle.MAC, err error) {
	live, err := k.listing().linksButPorts()
	if err != nil {
		return nil, refused("list", "interfaces", err)
	}
	at := slices.IndexFunc(live, func(l linkState) bool { return l.name == parent })
	if at < 0 {
		return nil, nil
	}
	among = slices.DeleteFunc(slices.Clone(among), func(mac heddle.MAC) bool {
		return slices.ContainsFunc(live, func(l linkState) bool {
			return l.peer == live[at].index && !l.elsewhere && !l.paired() && l.mac == mac
		})
	})
	if len(among) == 0 {
		return nil, nil
	}
	all, err := allNamespaces()
	if err != nil {
		return nil, err
	}
	defer all.close()
	var pods []*Netns
	for _, n := range all {
		if cookie, err := n.Cookie(); err == nil && inside(cookie) {
			pods = append(pods, n)
		}
	}
	for _, u := range stackedOn(all.stackedInterfaces(k.home), k.home, live[at].index) {
		if u.ns.Same(k.home) || !u.onLAN() || !u.hasMAC() || !slices.Contains(among, u.mac) {
			continue
		}
		ways := all.leadingTo(u.ns, k.home)
		theirs := func(pod *Netns) bool { return slices.ContainsFunc(ways, pod.Same) || pod.ownsUsersOf(u.ns) }
		if slices.ContainsFunc(pods, theirs) {
			found = append(found, u.mac)
		}
	}
	return found, nil
}

// DeviceOn finds the device in a container's namespace that is on a parent of the host and has the
// alias, and returns its index. It returns known if the device with that index fits, and 0 if there
// is no such device.
func (k *Kernel) DeviceOn(parent, alias string, known int, in Pod) (index int, err error) {
	pod, err := netnsOf(in)
	if err != nil {
		return 0, err
	}
	l, err := k.listing().link(parent)
	if err != nil || l == nil {
		return 0, refused("read interface", parent, err)
	}
	for _, u := range stackedOn(namespaces{pod.path: pod}.stackedInterfaces(k.home), k.home, l.index) {
		if u.alias == alias && u.onLAN() && (index == 0 || u.index == known) {
			index = u.index
		}
	}
	return index, nil
}

// Heard lists the unicast MAC addresses, besides its own, that an interface of the host listens to,
// and returns the interface's index. If the interface does not exist, it returns none and 0.
func (k *Kernel) Heard(name string) (all []heddle.MAC, number int, err error) {
	s := k.listing()
	l, err := s.link(name)
	if err != nil || l == nil {
		return nil, 0, refused("read interface", name, err)
	}
	all, err = s.listenedMACs(*l)
	return all, l.index, refused("list", "MAC addresses of "+name, err)
}
