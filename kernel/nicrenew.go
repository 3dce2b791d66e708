package kernel

import (
	"os"
	"path/filepath"

	"github.com/heddle-network/heddle"
)

// RenewNIC makes a NIC of the host as new, if it is hardware: its driver lets go of the device, and takes it again. Then nothing is left of
// what somebody has set, also in the hardware alone (offloads, rings, queues; ethtool(8)), which no other step undoes. The NIC may have
// another name and index after that. If the driver does not take the device again, the host has no such interface any more.
func (k *Kernel) RenewNIC(n heddle.NIC) error {
	if n.Was.Bus == "" || n.Was.Device == "" {
		return heddle.Errorf(heddle.NICUnfit, "renew NIC", n.Name, "it is no hardware, and has no driver to be asked", "have it taken out")
	}
	driver, err := filepath.EvalSymlinks(filepath.Join("/sys/bus", n.Was.Bus, "devices", n.Was.Device, "driver"))
	// Documentation/ABI/testing/sysfs-bus-pci of Linux; every bus has the two files
	for _, file := range []string{"unbind", "bind"} {
		if err == nil {
			err = k.trip(file, n.Key())
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(driver, file), []byte(n.Was.Device), 0)
		}
	}
	return refused("renew", n.Key(), err)
}
