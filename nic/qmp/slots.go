package qmp

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	provider "github.com/heddle-network/heddle/nic"
)

// The devices of a machine in QEMU's tree of objects: those with an id, and those without.
const (
	named   = "/machine/peripheral"
	unnamed = "/machine/peripheral-anon"
)

// portType is the type of a root port in QEMU's tree.
const portType = "child<pcie-root-port>"

// property is a member of an object in QEMU's tree. Members of the type child<X> are objects
// themselves.
type property struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func (p property) isObject() bool { return strings.HasPrefix(p.Type, "child<") }

// Slots returns the number of slots for hot-plugged devices: of all, and of those that are free. A
// slot is a PCIe root port with an id, whatever that is. One without an id has a bus that QEMU takes
// for another one.
func (m *Machine) Slots(ctx context.Context) (all, free int, err error) {
	ports, open, err := m.ports(ctx)
	if err != nil {
		return 0, 0, m.failed("count slots of machine", m.path, err, "look whether the machine runs")
	}
	return len(ports), len(open), nil
}

// Plugged returns the ids of the NICs that were plugged by Plug and are there, sorted.
func (m *Machine) Plugged(ctx context.Context) ([]string, error) {
	ids, err := m.ids(ctx)
	if err != nil {
		return nil, m.failed("list NICs of machine", m.path, err, "look whether the machine runs")
	}
	return ids, nil
}

func (m *Machine) ids(ctx context.Context) (ids []string, err error) {
	devices, err := m.list(ctx, named)
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if id, ours := strings.CutPrefix(d.Name, prefix); ours && d.isObject() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// ports returns the ids of all root ports, and of those without a device, in the order of their
// numbers. The bus of a port has the port's id.
func (m *Machine) ports(ctx context.Context) (all, free []string, err error) {
	taken := map[string]bool{}
	for _, folder := range []string{named, unnamed} {
		devices, err := m.list(ctx, folder)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range devices {
			switch {
			case d.Type == portType && folder == named:
				all = append(all, d.Name)
			case d.isObject():
				bus, err := m.busOf(ctx, folder+"/"+d.Name)
				if err != nil {
					return nil, nil, err
				}
				taken[path.Base(bus)] = true
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	free = slices.DeleteFunc(slices.Clone(all), func(port string) bool { return taken[port] })
	return all, free, nil
}

// Queues returns how many pairs of queues a NIC of the machine should have, at least one; see nic.QueuePairs.
func (m *Machine) Queues(ctx context.Context) (int, error) {
	ports, _, err := m.ports(ctx)
	pairs := 0
	if err == nil {
		pairs, err = m.queuePairs(ctx, len(ports))
	}
	if err != nil {
		return 0, m.failed("count processors of machine", m.path, err, "look whether the machine runs")
	}
	return max(1, pairs), nil
}

// queuePairs is nic.QueuePairs of a machine with so many slots.
func (m *Machine) queuePairs(ctx context.Context, slots int) (int, error) {
	var cpus []struct{}
	err := m.call(ctx, "query-cpus-fast", nil, &cpus)
	return provider.QueuePairs(slots, len(cpus)), err
}

// list returns the members of an object.
func (m *Machine) list(ctx context.Context, object string) (all []property, err error) {
	err = m.call(ctx, "qom-list", map[string]string{"path": object}, &all)
	return all, err
}

// busOf returns the path of the bus on which a device is. It is empty for a device without a bus,
// or one that has gone meanwhile.
func (m *Machine) busOf(ctx context.Context, device string) (bus string, err error) {
	err = m.call(ctx, "qom-get", map[string]string{"path": device, "property": "parent_bus"}, &bus)
	var r *refusal
	if errors.As(err, &r) {
		return "", nil
	}
	return bus, err
}
