package qmp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// prefix is the beginning of the ids, in QEMU, of everything that this package makes.
const prefix = "heddle-"

// undoTime limits the removal of what a failed Plug has made.
const undoTime = 5 * time.Second

// goodID is what QEMU takes as the rest of an id (QEMU's util/id.c).
var goodID = lazyregexp.New(`^[A-Za-z0-9._-]{1,64}$`)

// NIC is a virtio-net device to plug.
type NIC struct {
	ID  string     // 1 to 64 letters, digits, '.', '_', '-'; in QEMU it is "heddle-" and the ID
	MAC heddle.MAC // of the guest's NIC
	MTU int        // in bytes; the guest takes it over (VIRTIO_NET_F_MTU). 0 leaves it to the guest
	// TAPs is the device whose frames the NIC has, opened once for each pair of queues that the NIC shall have. QEMU gets descriptors of
	// its own, so that the caller may close these after Plug.
	TAPs []*os.File
}

// names are what QEMU calls the files.
func (n NIC) names() (all []string) {
	for i := range n.TAPs {
		all = append(all, fmt.Sprintf("%s%s-%d", prefix, n.ID, i))
	}
	return all
}

func (n NIC) check() error {
	if _, err := heddle.ParseMAC(string(n.MAC)); err != nil {
		return err
	}
	if len(n.TAPs) == 0 {
		return heddle.Errorf(heddle.BadArgument, "plug NIC", n.ID, "it has no TAP device", "open one")
	}
	return checkID("plug NIC", n.ID)
}

func checkID(op, id string) error {
	if goodID.MatchString(id) {
		return nil
	}
	return heddle.Errorf(heddle.BadArgument, op, heddle.Clip(id), "QEMU takes no such id", "use 1 to 64 letters, digits, '.', '_', '-'")
}

// Plug plugs a NIC into the first free slot, or changes nothing. It returns when QEMU has the
// device. The guest sees it a little later. If the context ends in the middle, Plug takes up to
// 5 seconds more to undo what it has done.
func (m *Machine) Plug(ctx context.Context, n NIC) error {
	if err := n.check(); err != nil {
		return err
	}
	select {
	case m.plugging <- struct{}{}:
		defer func() { <-m.plugging }()
	case <-m.done:
		return m.failed("plug NIC", n.ID, m.ended(), "connect again")
	case <-ctx.Done():
		return m.failed("plug NIC", n.ID, context.Cause(ctx), "try again: others were being plugged")
	}
	all, free, err := m.lookForSlots(ctx, n)
	pairs := 0
	if err == nil {
		pairs, err = m.queuePairs(ctx, all)
	}
	if err == nil {
		err = m.plug(ctx, n, free, pairs == 0)
	}
	if err != nil {
		return m.failed("plug NIC", n.ID, err, "look at the machine's devices, and try again")
	}
	return nil
}

// lookForSlots returns how many slots there are, and the free ones, at least one. It refuses a NIC that is there already.
func (m *Machine) lookForSlots(ctx context.Context, n NIC) (all int, free []string, err error) {
	ids, err := m.ids(ctx)
	if err != nil {
		return 0, nil, err
	}
	if slices.Contains(ids, n.ID) {
		return 0, nil, heddle.Errorf(heddle.MachineRefused, "plug NIC", n.ID, "a NIC of that id is plugged", "unplug it first, or choose another id")
	}
	ports, free, err := m.ports(ctx)
	if err == nil && len(free) == 0 {
		return 0, nil, noSlot(n, len(ports))
	}
	return len(ports), free, err
}

func noSlot(n NIC, all int) error {
	cause := "each slot of the machine holds a device"
	if all == 0 {
		cause = "the machine has no slots"
	}
	return heddle.Errorf(heddle.NoSlot, "plug NIC", n.ID, cause, "unplug a NIC, or start the machine with more PCIe root ports")
}

// plug makes the NIC's two halves: the netdev, which has the TAP, and the device.
func (m *Machine) plug(ctx context.Context, n NIC, free []string, shared bool) error {
	id := prefix + n.ID
	// A netdev without a device is left when a Plug was cut off.
	if err := m.call(ctx, "netdev_del", map[string]string{"id": id}, nil); err != nil && !notFound(err) {
		return err
	}
	err := m.giveFiles(ctx, n)
	if err == nil {
		err = m.call(ctx, "netdev_add", map[string]string{"type": "tap", "id": id, "fds": strings.Join(n.names(), ":")}, nil)
	}
	if err == nil {
		err = m.addDevice(ctx, n, free, shared)
	}
	if err != nil {
		m.undo(ctx, n, err)
	}
	return err
}

// giveFiles sends QEMU the NIC's files.
func (m *Machine) giveFiles(ctx context.Context, n NIC) error {
	for i, name := range n.names() {
		if err := m.callWith(ctx, "getfd", map[string]string{"fdname": name}, n.TAPs[i], nil); err != nil {
			return err
		}
	}
	return nil
}

// addDevice adds the device in the first of the slots that takes it. With several pairs of queues it has an interrupt for each queue, for its control queue and for its
// configuration (MSI-X), with one as many as QEMU gives it. One that shares interrupts has none.
func (m *Machine) addDevice(ctx context.Context, n NIC, slots []string, shared bool) error {
	device := map[string]any{"driver": "virtio-net-pci", "id": prefix + n.ID, "netdev": prefix + n.ID,
		"mac": string(n.MAC), "host_mtu": n.MTU, "romfile": "", "addr": "0"} // without an address QEMU takes a second device in the slot, which no guest sees
	if len(n.TAPs) > 1 {
		device["mq"], device["vectors"] = true, 2*len(n.TAPs)+2
	}
	if shared {
		device["vectors"] = 0
	}
	for _, bus := range slots {
		device["bus"] = bus
		err := m.call(ctx, "device_add", device, nil)
		if !slotRefused(err) {
			return err
		}
	}
	return noSlot(n, len(slots))
}

// slotRefused reports whether QEMU refused the slot and not the device: another program has
// taken it meanwhile, or it is not for hot-plug.
func slotRefused(err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	return slices.ContainsFunc([]string{"in use by", "does not support hotplugging", "unsupported by the port"},
		func(words string) bool { return strings.Contains(r.Text, words) })
}

// undo removes what a failed plug has made, even if its context has ended. A device is there
// only if QEMU's answer did not come in time. It goes when the guest lets go of it.
func (m *Machine) undo(ctx context.Context, n NIC, cause error) {
	id := prefix + n.ID
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	var r *refusal
	if !errors.As(cause, &r) {
		m.call(ctx, "device_del", map[string]string{"id": id}, nil)
	}
	m.call(ctx, "netdev_del", map[string]string{"id": id}, nil)
	for _, name := range n.names() {
		m.call(ctx, "closefd", map[string]string{"fdname": name}, nil)
	}
}
