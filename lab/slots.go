package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/heddle-network/heddle"
)

// MaxSlots is the largest number of slots of a machine. Each costs time when the machine boots.
const MaxSlots = 128

// Devices on the root bus of a machine. Each function of a device can be a slot.
const (
	lastDevice     = 0x1e // the slots take devices from here downwards; the chipset has 0x1f
	functions      = 8    // of a device
	otherDevices   = 2    // the shared files, and the NIC of the control channel
	machineDevices = lastDevice
)

// The management sockets of the machines with slots. They are in a folder of the lab, since
// a guest may write to its host's folder.
const (
	managementName = "qmp"      // the folder in the lab's
	managementDir  = "/run/qmp" // the same folder, in the hosts of namespaces and for the emulators
)

func managementFolder(lab string) string { return filepath.Join(lab, managementName) }

// checkSlots refuses slots that a host cannot have.
func (n *Node) checkSlots() error {
	if n.Slots < 0 || n.Slots > MaxSlots {
		return refuse("check number of slots of "+n.Name, n.Slots,
			fmt.Sprintf("a machine has 0 to %d", MaxSlots), "choose a number in that range")
	}
	if n.Slots > 0 && n.Machine == "" {
		return refuse("check number of slots of "+n.Name, n.Slots,
			"only a virtual machine has slots, and this host is made of namespaces", "leave slots out, or give the host a machine")
	}
	if devices := otherDevices + len(n.NICs) + n.Spare + slotDevices(n.Slots); n.Slots > 0 && devices > machineDevices {
		return refuse("check number of slots of "+n.Name, n.Slots,
			fmt.Sprintf("with the NICs they need %d devices, and a machine has room for %d: each NIC takes one, and so do each %d slots", devices, machineDevices, functions),
			"give the machine fewer slots or NICs")
	}
	return nil
}

// maxCPUs is the largest number of processors of a machine.
const maxCPUs = 8

// checkCPUs refuses processors that a host cannot have.
func (n *Node) checkCPUs() error {
	if n.CPUs < 0 || n.CPUs > maxCPUs {
		return refuse("check number of processors of "+n.Name, n.CPUs,
			fmt.Sprintf("a machine has 1 to %d", maxCPUs), "choose a number in that range")
	}
	if n.CPUs > 0 && n.Machine == "" {
		return refuse("check number of processors of "+n.Name, n.CPUs,
			"only a virtual machine has its own, and this host is made of namespaces", "leave cpus out, or give the host a machine")
	}
	return nil
}

// slotDevices returns how many devices have so many slots.
func slotDevices(slots int) int { return (slots + functions - 1) / functions }

// checkManagement refuses a host or switch whose folder would be that of the management sockets.
func (t Topology) checkManagement() error {
	if !t.hasSlots() {
		return nil
	}
	taken := func(name string) bool { return name == managementName }
	if slices.ContainsFunc(t.Switches, func(sw Switch) bool { return taken(sw.Name) }) ||
		slices.ContainsFunc(t.Hosts, func(n Node) bool { return taken(n.Name) }) {
		return refuse("check name of host or switch", managementName,
			"a lab of machines with slots keeps their management sockets in a folder of that name", "choose another name")
	}
	return nil
}

func (t Topology) hasSlots() bool {
	return slices.ContainsFunc(t.Hosts, func(n Node) bool { return n.Slots > 0 })
}

// needsManagement reports whether the folder of the management sockets shall be visible to
// a host's init: for a machine with slots, where the emulator makes its socket there, and
// for all hosts of namespaces beside it.
func (t Topology) needsManagement(n *Node) bool {
	return t.hasSlots() && (n.Machine == "" || n.Slots > 0)
}

func (l *Lab) makeManagementFolder() error {
	if !l.Topology.hasSlots() {
		return nil
	}
	if err := os.Mkdir(managementFolder(l.folder), 0o700); err != nil {
		return heddle.Wrap(heddle.LabFailed, "make folder of management sockets of", l.Name, err, "")
	}
	return nil
}

// slotArguments returns the emulator's arguments for the slots of a machine: PCIe root ports
// with the ids slot1, slot2, and so on, and the socket of QEMU's machine protocol. No port
// takes I/O addresses, of which there are too few.
func slotArguments(n *Node) (args []string) {
	if n.Slots == 0 {
		return nil
	}
	for i := range n.Slots {
		args = append(args, "-device", fmt.Sprintf("pcie-root-port,id=slot%d,chassis=%d,addr=%#x.%d,multifunction=on,io-reserve=0",
			i+1, i+1, lastDevice-i/functions, i%functions))
	}
	return append(args, "-qmp", "unix:"+managementDir+"/"+n.Name+",server=on,wait=off")
}

// QMP returns the path, outside of the host, of the socket of QEMU's machine protocol. It is
// empty for a host without slots. The socket takes one connection at a time.
func (h *Host) QMP() string {
	if h.Slots == 0 || h.Pid == 0 {
		return ""
	}
	return fmt.Sprintf("/proc/%d/root%s/%s", h.Pid, managementDir, h.Name)
}
