package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// bus is a machine's sysfs and devices with one virtio NIC, behind an IOMMU.
type bus struct {
	*testing.T
	pciDevices
	nic heddle.NIC
}

const pciAddress = "0000:05:00.0"

func newBus(t *testing.T) bus {
	b := bus{t, pciDevices{t.TempDir(), t.TempDir()}, heddle.NIC{Name: "eth5", Was: heddle.NICState{Bus: "virtio", Device: "virtio3"}}}
	device := "devices/pci0/" + pciAddress
	for file, text := range map[string]string{
		device + "/class": "0x020000\n", device + "/driver_override": "(null)\n", device + "/virtio3/features": strings.Repeat("0", 33) + "1" + strings.Repeat("0", 30) + "\n",
		"bus/pci/drivers/vfio-pci/unbind": "", "bus/pci/drivers/virtio-pci/unbind": "", "bus/pci/drivers_probe": "", "bus/virtio/x": "", "bus/pci/devices/x": "",
		"bus/virtio/devices/x": "", "class/iommu/dmar0/x": "", "kernel/iommu_groups/7/devices/x": "", "devices/pci0/0000:00:1e.0/class": "0x060400\n",
	} {
		b.write(file, text)
	}
	b.remove("kernel/iommu_groups/7/devices/x")
	for from, to := range map[string]string{
		"bus/pci/devices/" + pciAddress: device, "bus/virtio/devices/virtio3": device + "/virtio3", device + "/subsystem": "bus/pci", device + "/virtio3/subsystem": "bus/virtio",
		device + "/iommu_group": "kernel/iommu_groups/7", device + "/driver": "bus/pci/drivers/virtio-pci",
		"kernel/iommu_groups/7/devices/" + pciAddress: device, "kernel/iommu_groups/7/devices/0000:00:1e.0": "devices/pci0/0000:00:1e.0",
	} {
		b.link(from, to)
	}
	return b
}

func (b bus) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b bus) write(file, text string) {
	b.Helper()
	b.must(os.MkdirAll(filepath.Join(b.sys, filepath.Dir(file)), 0o755))
	b.must(os.WriteFile(filepath.Join(b.sys, file), []byte(text), 0o600))
}

func (b bus) remove(file string) { b.must(os.RemoveAll(filepath.Join(b.sys, file))) }

func (b bus) link(from, to string) {
	b.Helper()
	os.Remove(filepath.Join(b.sys, from))
	b.must(os.Symlink(filepath.Join(b.sys, to), filepath.Join(b.sys, from)))
}

func (b bus) read(file string) string {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(b.sys, file))
	b.must(err)
	return string(text)
}

// TestDescribeDevice: what a program would get with a NIC is described, and refused if it is more than the NIC.
func TestDescribeDevice(t *testing.T) {
	b := newBus(t)
	d, err := b.describe(b.nic, heddle.VFIODriver)
	if want := (heddle.NICDevice{Address: pciAddress, Driver: "vfio-pci", Former: "virtio-pci", Group: 7, Inode: d.Inode}); err != nil || d != want || d.Inode == 0 {
		t.Fatalf("%+v, %v", d, err)
	}
	b.must(b.checkDriver(heddle.VFIODriver))
	for _, c := range []struct {
		name, cause string
		code        heddle.Code
		change      func(b *bus)
	}{
		{"virtual", "no device on a PCI bus", heddle.NICUnfit, func(b *bus) { b.nic.Was.Bus, b.nic.Was.Device = "", "" }},
		{"on another bus", "no device on a PCI bus", heddle.NICUnfit, func(b *bus) { b.link("devices/pci0/"+pciAddress+"/subsystem", "bus/platform") }},
		{"no group", "no IOMMU", heddle.NICUnfit, func(b *bus) { b.remove("devices/pci0/" + pciAddress + "/iommu_group") }},
		{"a group without IOMMU", "no IOMMU", heddle.NICUnfit, func(b *bus) { b.write("kernel/iommu_groups/7/name", "vfio-noiommu\n") }},
		{"others in the group", "other devices, which a program would get as well: 0000:06:00.0", heddle.NICUnfit, func(b *bus) {
			b.write("devices/pci0/0000:06:00.0/class", "0x010802\n")
			b.link("kernel/iommu_groups/7/devices/0000:06:00.0", "devices/pci0/0000:06:00.0")
		}},
		{"past the IOMMU", "VIRTIO_F_ACCESS_PLATFORM", heddle.NICUnfit, func(b *bus) {
			b.write("devices/pci0/"+pciAddress+"/virtio3/features", strings.Repeat("1", 33)+"0"+strings.Repeat("1", 30))
		}},
		{"features of old", "VIRTIO_F_ACCESS_PLATFORM", heddle.NICUnfit, func(b *bus) { b.write("devices/pci0/"+pciAddress+"/virtio3/features", strings.Repeat("1", 32)) }},
		{"no driver", "modprobe vfio-pci", heddle.NotOnKernel, func(b *bus) { b.remove("bus/pci/drivers/vfio-pci") }},
	} {
		b := newBus(t)
		c.change(&b)
		_, err := b.describe(b.nic, heddle.VFIODriver)
		if c.code.In(err) == nil || !strings.Contains(err.Error(), c.cause) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	b.remove("class/iommu/dmar0")
	if err := b.checkDriver(heddle.VFIODriver); heddle.NICUnfit.In(err) == nil {
		t.Errorf("a machine without an IOMMU: %v", err)
	}
}

// TestGiveBackDevice: a device goes back to its driver from wherever an agent that was killed has left it; another one at its pciAddress is left alone, and one that a
// program has open.
func TestGiveBackDevice(t *testing.T) {
	nothing := func(string) error { return nil }
	link := "devices/pci0/" + pciAddress + "/driver"
	for name, c := range map[string]struct {
		bound  string
		probed string
	}{"not begun": {"virtio-pci", ""}, "let go": {"", pciAddress}, "bound": {"vfio-pci", pciAddress}} {
		b := newBus(t)
		d, err := b.describe(b.nic, heddle.VFIODriver)
		b.must(err)
		b.must(os.MkdirAll(filepath.Join(b.dev, "vfio"), 0o755))
		b.must(os.WriteFile(filepath.Join(b.dev, "vfio/7"), nil, 0o600))
		os.Remove(filepath.Join(b.sys, link))
		if c.bound != "" {
			b.link(link, "bus/pci/drivers/"+c.bound)
		}
		var steps []string
		b.must(b.giveBack(d, func(what string) error { steps = append(steps, what); return nil }))
		if got := b.read("bus/pci/drivers_probe"); got != c.probed || !strings.HasPrefix(b.read("devices/pci0/"+pciAddress+"/driver_override"), "\n") {
			t.Errorf("%s: probed %q", name, got)
		}
		if c.bound == "vfio-pci" && (b.read("bus/pci/drivers/vfio-pci/unbind") != pciAddress || !slices.Equal(steps, []string{"driver", "unbind", "bind"})) {
			t.Errorf("%s: not unbound, steps %v", name, steps)
		}
	}
	b := newBus(t)
	d, err := b.describe(b.nic, heddle.VFIODriver)
	b.must(err)
	b.link(link, "bus/pci/drivers/vfio-pci")
	if err := b.giveBack(d, nothing); heddle.Quarantined.In(err) == nil || !strings.Contains(err.Error(), fmt.Sprint(d.Group)) {
		t.Errorf("without its device file: %v", err)
	}
	if got := b.read("devices/pci0/"+pciAddress+"/driver_override") + b.read("bus/pci/drivers/vfio-pci/unbind"); got != "(null)\n" {
		t.Errorf("a device that is not given back was changed: %q", got)
	}
	d.Inode++
	if err := b.giveBack(d, nothing); err != nil {
		t.Errorf("another device: %v", err)
	}
	if _, there, err := b.driver(d); there || err != nil {
		t.Errorf("another device is taken for it: %v", err)
	}
}

// TestStrangeDriver: a device that somebody has bound to a driver of another kind is taken from it, but not while a program has it open by VFIO.
func TestStrangeDriver(t *testing.T) {
	link, given := "devices/pci0/"+pciAddress+"/driver", func(b bus, d heddle.NICDevice) error { return b.giveBack(d, func(string) error { return nil }) }
	taken := func(b bus, d heddle.NICDevice) error {
		return b.bind(d, "strange", func(what string, do func() error) error {
			if what == "bind" {
				b.link(link, "bus/pci/drivers/vfio-pci")
			}
			return do()
		})
	}
	for name, do := range map[string]func(bus, heddle.NICDevice) error{"given back": given, "taken": taken} {
		for _, open := range []bool{false, true} {
			b := newBus(t)
			d, err := b.describe(b.nic, heddle.VFIODriver)
			b.must(err)
			b.write("bus/pci/drivers/strange/unbind", "")
			b.link(link, "bus/pci/drivers/strange")
			if open { // no file of the kernel's is at hand here that cannot be opened twice
				b.must(os.MkdirAll(filepath.Join(b.dev, "vfio/7"), 0o755))
			}
			err = do(b, d)
			if unbound := b.read("bus/pci/drivers/strange/unbind") == pciAddress; unbound == open || (heddle.Quarantined.In(err) != nil) != open {
				t.Errorf("%s, a program has it: %t: unbound %t, %v", name, open, unbound, err)
			}
		}
	}
}
