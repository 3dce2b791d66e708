package libvirt

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lab/boot"
	"github.com/heddle-network/heddle/test/libvirtd"
	"github.com/heddle-network/heddle/test/namespace"
)

// domainXML is a domain without a guest, with so many slots, further devices, and further arguments of QEMU.
const domainXML = `<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
<name>%s</name><memory unit='MiB'>32</memory><os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features>
<devices><emulator>%s</emulator><controller type='pci' index='0' model='pcie-root'/>%s<controller type='usb' model='none'/>
<memballoon model='none'/>%s</devices><qemu:commandline>%s</qemu:commandline></domain>`

// native makes QEMU ask the guest by native PCIe hot-plug, and not by ACPI. Then a port that no guest has powered on lets a device go at
// once.
const native = `<qemu:arg value='-global'/><qemu:arg value='ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off'/>`

func ports(count int) (all string) {
	for i := range count {
		all += fmt.Sprintf("<controller type='pci' index='%d' model='pcie-root-port'/>", i+1)
	}
	return all
}

// host is a libvirtd in a network namespace with TAPs.
type host struct {
	*libvirtd.Daemon
	netns, emulator string
}

func newHost(t *testing.T) *host {
	t.Helper()
	emulator, err := exec.LookPath(boot.QEMU)
	why := libvirtd.Missing()
	if err != nil {
		why = "needs QEMU (Debian: qemu-system-x86)"
	}
	if why != "" {
		if os.Getenv("HEDDLE_REQUIRE_VM") == "1" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	netns := namespace.New(t).Path()
	return &host{libvirtd.Start(t, netns), netns, emulator}
}

// domain starts a domain, which stands still.
func (h *host) domain(t *testing.T, name string, slots int, devices, arguments string) *Domain {
	t.Helper()
	h.Create(fmt.Sprintf(domainXML, name, h.emulator, ports(slots), devices, arguments), golibvirt.DomainStartPaused)
	return NewDomain(h.Socket(), name)
}

// ip runs ip(8) in the host's network namespace.
func (h *host) ip(t *testing.T, args string) string {
	t.Helper()
	out, err := exec.Command("nsenter", append([]string{"--net=" + h.netns, "ip"}, strings.Fields(args)...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
	return string(out)
}

// taps makes TAPs as the agent does: persistent, with virtio-net's header, and up.
func (h *host) taps(t *testing.T, names ...string) {
	t.Helper()
	for i, n := range names {
		h.ip(t, "tuntap add dev "+n+" mode tap vnet_hdr")
		h.ip(t, fmt.Sprintf("link set dev %s address 0e:00:00:00:00:%02x mtu 1400 up", n, i))
	}
}

// mac is the MAC address of the NIC at a TAP that has such a number.
func mac(number int) heddle.MAC { return heddle.MAC(fmt.Sprintf("0a:00:00:00:00:%02x", number)) }

// limit is a context for what takes milliseconds on an idle processor.
func limit(t *testing.T) context.Context { return within(t, time.Minute) }

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// refused fails the test unless the error is of that code.
func refused(t *testing.T, err error, code heddle.Code) {
	t.Helper()
	if code.In(err) == nil {
		t.Errorf("error %v, want one of code %s", err, code)
	}
}

func plugged(t *testing.T, d *Domain, want ...string) {
	t.Helper()
	if got, err := d.Plugged(limit(t)); err != nil || !slices.Equal(got, want) {
		t.Errorf("plugged %v, %v; want %v", got, err, want)
	}
}

func slots(t *testing.T, d *Domain, wantAll, wantFree int) {
	t.Helper()
	all, free, err := d.Slots(limit(t))
	if err != nil || all != wantAll || free != wantFree {
		t.Errorf("slots: %d, %d free, %v; want %d, %d free", all, free, err, wantAll, wantFree)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
