package fake

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// The other queries of an agent are answered for an idle host: it has no packets, no connections,
// no NICs to give away and no other firewall.

// Facts are the facts that the host was made with.
func (k *Kernel) Facts() (heddle.HostFacts, error) {
	f := k.host.facts
	f.Links = slices.Clone(f.Links)
	return f, nil
}

// Destinations and HostRoutes are the prefixes of the host's own interfaces.
func (k *Kernel) Destinations() ([]netip.Prefix, error) { return k.HostRoutes() }

func (k *Kernel) HostRoutes() (all []netip.Prefix, err error) {
	for _, l := range k.host.facts.Links {
		for _, a := range l.Addrs {
			all = append(all, a.Masked())
		}
	}
	return all, nil
}

// LogPackets returns a log without packets.
func (k *Kernel) LogPackets(uint16, int, func(kernel.LoggedPacket), func(error)) (*kernel.PacketLog, error) {
	return &kernel.PacketLog{}, nil
}

func (k *Kernel) Drops() (map[string]uint64, error) { return map[string]uint64{}, nil }

// Has reports whether the host has an interface of that name and alias.
func (k *Kernel) Has(name, alias string) (bool, error) {
	k.host.mu.Lock()
	defer k.host.mu.Unlock()
	l := k.host.own.links[name]
	return l != nil && l.Alias == alias, nil
}

// HasPort reports whether the host has a port of that name.
func (k *Kernel) HasPort(name string) (bool, error) {
	k.host.mu.Lock()
	defer k.host.mu.Unlock()
	l := k.host.own.links[name]
	return l != nil && (l.Kind == "veth" || l.Kind == "tun") && heddle.IsPortName(name), nil
}

// FarEnd finds the far end of a pair in a namespace; nil if it is not there.
func (k *Kernel) FarEnd(near string, in kernel.Pod) (*kernel.Seen, error) {
	k.host.mu.Lock()
	l := k.host.own.links[near]
	k.host.mu.Unlock()
	p, is := in.(pod)
	if !is || l == nil || l.far == nil || l.far.namespace != p.namespace {
		return nil, nil
	}
	return in.FindIndex(l.far.number)
}

// DeviceOn finds the number of a container's device on a parent.
func (k *Kernel) DeviceOn(parent, alias string, _ int, in kernel.Pod) (index int, err error) {
	s, err := k.namespaceOf(in)
	if err != nil || s == nil {
		return 0, err
	}
	k.host.mu.Lock()
	defer k.host.mu.Unlock()
	for _, l := range s.links {
		if l.parent != nil && l.parent.Name == parent && l.Alias == alias {
			index = l.number
		}
	}
	return index, nil
}

// Heard returns the index of a parent. Nobody but endpoints is on the parent.
func (k *Kernel) Heard(parent string) ([]heddle.MAC, int, error) {
	k.host.mu.Lock()
	defer k.host.mu.Unlock()
	if l := k.host.own.links[parent]; l != nil {
		return nil, l.number, nil
	}
	return nil, 0, nil
}

func (k *Kernel) MACsOfContainers(string, []heddle.MAC, func(uint64) bool) ([]heddle.MAC, error) {
	return nil, nil
}

func (k *Kernel) Tenants(string) ([]kernel.Tenant, error) { return nil, nil }

func (k *Kernel) Evict(kernel.Tenure, kernel.Pod) error { return nil }

func (k *Kernel) Announce(kernel.Pod, string, heddle.MAC, []netip.Prefix) error { return nil }

// HearAnnouncements fails: no packet passes here.
func (k *Kernel) HearAnnouncements(string, []netip.Addr) (kernel.Announcements, error) {
	return nil, errors.ErrUnsupported
}

// OpenWire fails: no packet passes here.
func (k *Kernel) OpenWire(kernel.Pod, string) (kernel.Wire, error) { return nil, errors.ErrUnsupported }

func (k *Kernel) ForgetAddresses([]netip.Addr) error { return nil }

func (k *Kernel) ForgetFlows(heddle.Endpoint, func(heddle.PortMapping, netip.Addr) bool) error {
	return nil
}

func (k *Kernel) ForgetPrefixes(_, _ []netip.Prefix) error { return nil }

func (k *Kernel) ForgetShadows([]heddle.Socket) error { return nil }

func (k *Kernel) FastCounts(string) (heddle.FastCounts, error)      { return heddle.FastCounts{}, nil }
func (k *Kernel) Queues(kernel.Pod, string) ([]heddle.Queue, error) { return nil, nil }
func (k *Kernel) FastTotals() (heddle.FastCounts, error)            { return heddle.FastCounts{}, nil }

// SwitchOffFastPath is not faked.
func (k *Kernel) SwitchOffFastPath() error { return unknown("switch off", "the fast path") }

// NICs are not faked: the host gives none away, and has none with a mark.
func (k *Kernel) Snapshot(name string) (heddle.NIC, error) {
	return heddle.NIC{}, unknown("look at NIC", name)
}
func (k *Kernel) CarriesDefault(string) (bool, error) { return false, nil }
func (k *Kernel) CheckDriver(driver string) error     { return unknown("use driver", driver) }
func (k *Kernel) Device(n heddle.NIC, _ string) (heddle.NICDevice, error) {
	return heddle.NICDevice{}, unknown("give a program NIC", n.Name)
}
func (k *Kernel) MarkNIC(n heddle.NIC) error              { return unknown("mark NIC", n.Name) }
func (k *Kernel) RenewNIC(n heddle.NIC) error             { return unknown("renew NIC", n.Name) }
func (k *Kernel) MarkedNICs() ([]kernel.MarkedNIC, error) { return nil, nil }
func (k *Kernel) Rescue(hold string) ([]string, error)    { return nil, unknown("open", hold) }
func (k *Kernel) RescueHere(m kernel.MarkedNIC) error     { return unknown("bring back NIC", m.Name) }
func (k *Kernel) Release(hold string) error               { return nil }

// Gates are the chains of other firewalls, of which there are none.
type Gates struct{}

func (Gates) Admit() ([]string, error) { return nil, nil }
func (Gates) Stale() bool              { return false }
func (Gates) Withdraw() error          { return nil }
func (Gates) Close() error             { return nil }
