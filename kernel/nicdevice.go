package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// A NIC that a program drives is bound to vfio-pci and not moved. Which driver a device is to have is written for this device alone
// (driver_override; Documentation/ABI/testing/sysfs-bus-pci), never for all of its kind (new_id).

// CheckDriver refuses a driver for programs that cannot be used here: the kernel does not have it, or the machine has no IOMMU.
func (k *Kernel) CheckDriver(driver string) error { return pciHere().checkDriver(driver) }

// Device describes the device of a NIC of the host, for a program that drives it by that driver. It refuses a device that would give the
// program more than the NIC: the machine's memory, or other devices.
func (k *Kernel) Device(n heddle.NIC, driver string) (heddle.NICDevice, error) {
	return pciHere().describe(n, driver)
}

// device binds a NIC's device to the driver for programs.
func (a *attempt) device(n heddle.NIC) error {
	d := *n.Device
	bound, there, err := pciHere().driver(d)
	switch {
	case err != nil:
		return refused("find", n.Key(), err)
	case !there:
		return heddle.Errorf(heddle.NICTaken, "find NIC", n.Name+" ("+string(n.MAC)+")", "its device "+d.Address+" is not in the machine any more", "detach the endpoint, and attach it again")
	case bound == d.Driver:
		return nil
	}
	a.recordUndo(n.Key(), func() error { return pciHere().giveBack(d, func(string) error { return nil }) })
	return pciHere().bind(d, bound, func(what string, do func() error) error { return a.step(what, n.Key(), do) })
}

// device compares the driver of a NIC's device.
func (d *differ) device(n heddle.NIC) error {
	bound, there, err := pciHere().driver(*n.Device)
	switch {
	case err != nil:
		return err
	case !there:
		return d.missing(n)
	case bound != n.Device.Driver:
		return d.differs(n, "want driver %s, have %q", n.Device.Driver, bound)
	}
	return nil
}

// device gives a NIC's device back to its former driver.
func (r *removal) device(n heddle.NIC) {
	err := pciHere().giveBack(*n.Device, func(what string) error {
		err := r.k.trip("return", n.Key()+"/"+what)
		r.tripped = r.tripped || err != nil
		return err
	})
	r.err = errors.Join(r.err, refused("bring back", n.Key(), err))
}

// pciDevices are the devices of the PCI bus, as sysfs shows them, and the files of VFIO.
type pciDevices struct{ sys, dev string }

// pciHere are those of this machine.
func pciHere() pciDevices { return pciDevices{sys: "/sys", dev: "/dev"} }

func (p pciDevices) folder(address string) string {
	return filepath.Join(p.sys, "bus/pci/devices", address)
}

// driver returns what drives the device, "" for nothing, and whether it is there: the same that was described.
func (p pciDevices) driver(d heddle.NICDevice) (driver string, there bool, err error) {
	inode, err := inodeOf(p.folder(d.Address))
	if errors.Is(err, os.ErrNotExist) || err == nil && inode != d.Inode {
		return "", false, nil
	}
	link, err := os.Readlink(filepath.Join(p.folder(d.Address), "driver"))
	if errors.Is(err, os.ErrNotExist) {
		return "", true, nil
	}
	return filepath.Base(link), err == nil, err
}

func inodeOf(file string) (uint64, error) {
	var s unix.Stat_t
	if err := unix.Stat(file, &s); err != nil {
		return 0, err
	}
	return s.Ino, nil
}

// bind has the driver to which the device is bound, if any, let go of it, and the one for programs take it. Each step may be repeated.
func (p pciDevices) bind(d heddle.NICDevice, bound string, step func(what string, do func() error) error) error {
	leave, err := p.occupy(d, bound)
	if err != nil {
		return err
	}
	defer leave()
	at := p.folder(d.Address)
	if err := step("choose driver of", func() error { return write(at, "driver_override", d.Driver) }); err != nil {
		return err
	}
	if err := step("unbind", func() error { return p.unbind(d) }); err != nil {
		return err
	}
	return step("bind", func() error {
		if err := write(p.sys, "bus/pci/drivers_probe", d.Address); err != nil {
			return err
		}
		if bound, _, err := p.driver(d); err != nil || bound != d.Driver {
			return errors.Join(err, fmt.Errorf("%s does not take device %s, which has driver %q", d.Driver, d.Address, bound))
		}
		return nil
	})
}

// unbind has the device's driver let go of it, if it has one.
func (p pciDevices) unbind(d heddle.NICDevice) error {
	return ignoreAbsent(write(p.folder(d.Address), "driver/unbind", d.Address))
}

// giveBack has the former driver take the device again. It does nothing if the device has gone, or was never taken. As long as a program has
// the device open, the kernel would wait for it, and with it whatever else is plugged in or out.
func (p pciDevices) giveBack(d heddle.NICDevice, ask func(what string) error) error {
	bound, there, err := p.driver(d)
	if err != nil || !there {
		return err
	}
	leave, err := p.occupy(d, bound)
	if err != nil {
		return err
	}
	defer leave()
	if err := ask("driver"); err != nil {
		return err
	}
	if err := write(p.folder(d.Address), "driver_override", "\n"); err != nil {
		return ignoreAbsent(err)
	}
	if bound == d.Former {
		return nil
	}
	if err := ask("unbind"); err != nil {
		return err
	}
	if err := p.unbind(d); err != nil {
		return err
	}
	if err := ask("bind"); err != nil {
		return err
	}
	return ignoreAbsent(write(p.sys, "bus/pci/drivers_probe", d.Address)) // it may have been taken out just now
}

// occupy opens the group of a device that is bound to another driver than its former one. The kernel permits that to one at a time: it fails as
// long as a program has the device, and no program gets it before leave is called.
func (p pciDevices) occupy(d heddle.NICDevice, bound string) (leave func(), err error) {
	if bound == "" || bound == d.Former {
		return func() {}, nil
	}
	fd, err := unix.Open(filepath.Join(p.dev, "vfio", fmt.Sprint(d.Group)), unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
		return func() { unix.Close(fd) }, nil
	case errors.Is(err, os.ErrNotExist) && bound != d.Driver: // somebody has bound it to a driver that is not VFIO's
		return func() {}, nil
	}
	why := fmt.Errorf("its device file %s cannot be opened: %w", d.Node(), err)
	if errors.Is(err, unix.EBUSY) {
		why = fmt.Errorf("a program has %s open", d.Node())
	}
	return nil, heddle.Wrap(heddle.Quarantined, "take back", "device "+d.Address, why,
		"end the program: until then the NIC and its addresses are given to nobody, and the agent tries again every few seconds")
}

// write writes to a file that the kernel has.
func write(folder, file, text string) error {
	f, err := os.OpenFile(filepath.Join(folder, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
