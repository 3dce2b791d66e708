package heddle

import "fmt"

// VFIODriver is the driver by which programs use devices of the PCI bus without a driver of the kernel's, behind an IOMMU (the kernel's
// Documentation/driver-api/vfio.rst).
const VFIODriver = "vfio-pci"

// NICDevice is the device of a NIC, on the PCI bus, when a program drives it.
type NICDevice struct {
	// Address is where it is on the bus, such as 0000:05:00.0.
	Address string `json:"address"`
	// Driver is what it is bound to while the container has it, and Former what it was bound to.
	Driver string `json:"driver"`
	Former string `json:"former,omitempty"`
	// Group is its IOMMU group, of which it is the only device.
	Group int `json:"group"`
	// Inode is that of its folder in sysfs. A device that is plugged in at the same address later has another one.
	Inode uint64 `json:"inode"`
}

// Node is the file by which a program uses the device, beside /dev/vfio/vfio.
func (d NICDevice) Node() string { return fmt.Sprint("/dev/vfio/", d.Group) }

// ProgramDrives reports whether a program drives the endpoint's NIC: no kernel has an interface for it.
func (e Endpoint) ProgramDrives() bool { return e.NIC != nil && e.NIC.Device != nil }
