package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

const (
	// accessPlatform is the bit of a virtio device that the IOMMU does not pass by (VIRTIO_F_ACCESS_PLATFORM, section 6 of virtio 1.2): without
	// it the device reads and writes memory by the machine's own addresses, whatever the IOMMU says.
	accessPlatform = 33
	// bridgeClass begins the class of a bridge of PCI. A program cannot use one.
	bridgeClass = "0x0604"
	// noIOMMU is the name of a group that VFIO has made where there is no IOMMU.
	noIOMMU = "vfio-noiommu"
	// busDepth is how many steps a NIC's device is below that on the PCI bus, at most: virtio's is one.
	busDepth = 2
)

// checkDriver refuses a driver that is not there, and a machine without an IOMMU.
func (p pciDevices) checkDriver(driver string) error {
	units, err := os.ReadDir(filepath.Join(p.sys, "class/iommu"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return refused("read", "the IOMMUs", err)
	}
	if len(units) == 0 {
		return noUnit("the machine")
	}
	return p.hasDriver(driver)
}

func noUnit(object string) error {
	return heddle.Errorf(heddle.NICUnfit, "give a program NICs of", object, "no IOMMU is in use: by such a NIC a program could read and write the whole memory of the machine",
		"start the machine with an IOMMU (QEMU: -device intel-iommu,intremap=on), and its kernel with the parameter intel_iommu=on")
}

func (p pciDevices) hasDriver(driver string) error {
	if _, err := os.Stat(filepath.Join(p.sys, "bus/pci/drivers", driver)); err != nil {
		return heddle.Wrap(heddle.NotOnKernel, "use driver", driver, err, "load the kernel's module ('modprobe "+driver+"')")
	}
	return nil
}

// describe finds the device of a NIC, and what a program would get with it.
func (p pciDevices) describe(n heddle.NIC, driver string) (d heddle.NICDevice, err error) {
	unfit := func(why, remedy string) error {
		return heddle.Errorf(heddle.NICUnfit, "give a program NIC", n.Name, why, remedy)
	}
	at, err := p.find(n.Was)
	if err != nil {
		return d, unfit("it has no device on a PCI bus", "use a network without --opt driver")
	}
	d = heddle.NICDevice{Address: filepath.Base(at), Driver: driver}
	group, err := os.Readlink(filepath.Join(at, "iommu_group"))
	if err != nil {
		return d, noUnit("device " + d.Address)
	}
	if d.Group, err = strconv.Atoi(filepath.Base(group)); err != nil {
		return d, refused("read the IOMMU group of", n.Key(), err)
	}
	others, err := p.others(d)
	switch {
	case p.isMadeUp(d.Group):
		return d, noUnit("device " + d.Address)
	case err != nil:
		return d, refused("read the IOMMU group of", n.Key(), err)
	case len(others) > 0:
		return d, unfit(fmt.Sprintf("its IOMMU group %d has other devices, which a program would get as well: %s", d.Group, strings.Join(others, ", ")),
			"plug NICs into root ports, each with a group of its own")
	case n.Was.Bus == "virtio" && !p.behind(n.Was.Device):
		return d, unfit("the machine's IOMMU does not stand between it and the memory (no VIRTIO_F_ACCESS_PLATFORM): by it a program could read and write all of that",
			"start the machine with NICs behind its IOMMU (QEMU: -global virtio-net-pci.iommu_platform=on)")
	}
	if err := p.hasDriver(driver); err != nil {
		return d, err
	}
	if d.Inode, err = inodeOf(at); err != nil {
		return d, refused("find", n.Key(), err)
	}
	d.Former, _, err = p.driver(d)
	return d, refused("find", n.Key(), err)
}

// find returns the folder of the device on the PCI bus that a NIC stands on.
func (p pciDevices) find(w heddle.NICState) (string, error) {
	if w.Bus == "" || w.Device == "" {
		return "", os.ErrNotExist
	}
	at, err := filepath.EvalSymlinks(filepath.Join(p.sys, "bus", w.Bus, "devices", w.Device))
	for range busDepth {
		if err != nil {
			break
		}
		bus, _ := os.Readlink(filepath.Join(at, "subsystem"))
		if filepath.Base(bus) == "pci" {
			return at, nil
		}
		at = filepath.Dir(at)
	}
	return "", errors.Join(err, os.ErrNotExist)
}

func (p pciDevices) group(number int) string {
	return filepath.Join(p.sys, "kernel/iommu_groups", strconv.Itoa(number))
}

// isMadeUp reports whether VFIO has made the group without an IOMMU.
func (p pciDevices) isMadeUp(group int) bool {
	name, err := os.ReadFile(filepath.Join(p.group(group), "name"))
	return err == nil && strings.TrimSpace(string(name)) == noIOMMU
}

// others lists the devices of a device's group that are neither it nor a bridge.
func (p pciDevices) others(d heddle.NICDevice) (all []string, err error) {
	group := p.group(d.Group)
	members, err := os.ReadDir(filepath.Join(group, "devices"))
	for _, m := range members {
		if m.Name() == d.Address {
			continue
		}
		class, failed := os.ReadFile(filepath.Join(group, "devices", m.Name(), "class"))
		if failed != nil || !strings.HasPrefix(string(class), bridgeClass) {
			all = append(all, m.Name())
		}
	}
	return all, err
}

// behind reports whether a virtio device's driver has agreed with it that the IOMMU stands between it and the memory. QEMU lets no other driver
// do without it afterwards (virtio_validate_features).
func (p pciDevices) behind(device string) bool {
	bits, err := os.ReadFile(filepath.Join(p.sys, "bus/virtio/devices", device, "features"))
	return err == nil && len(bits) > accessPlatform && bits[accessPlatform] == '1'
}
