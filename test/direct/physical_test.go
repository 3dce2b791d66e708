package direct_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// TestPhysicalInGuests does with drivers of real hardware what only those show:
// they outlive their namespace. With them go the devices that not every host's kernel has. In make
// test, the newer kernel is enough, which alone has tcx.
func TestPhysicalInGuests(t *testing.T) {
	soak.Turn(t, 2)
	modules := append(vm.DefaultModules(), "virtio_pci", "virtio_net", "8021q") // the cloud kernels have no other
	vm.Guest{Modules: modules, Only: "6.12", NICs: []string{"virtio-net-pci", "virtio-net-pci"}}.RunEverywhere(t, "^Test(Physical|Tagged|TCX|XDPTakenOff)$")
}

// TestPhysical gives away a NIC of the guest, with the other one at the end of
// its wire. The kernel itself puts it back when it can.
func TestPhysical(t *testing.T) {
	if !vm.InGuest() {
		t.Skip("needs NICs of hardware: runs in a guest")
	}
	const nic, far, number = "eth0", "eth1", 3
	driver, err := os.Readlink("/sys/class/net/" + nic + "/device/driver")
	cell.Must(t, err)
	t.Logf("%s is driven by %s", nic, filepath.Base(driver))
	w := world.New(t)
	lan := world.NewNetns(t, "lan-"+nic)
	sh(t, far, number, `ip link set NAME netns lan-`+nic+` name lan0; ip -n lan-`+nic+` link set lan0 up
		ip -n lan-`+nic+` address add 10.5NUM.0.1/24 dev lan0; ip -n lan-`+nic+` address add fd5NUM::1/64 dev lan0 nodad`)
	t.Cleanup(func() {
		lan.TrySh("ip link set lan0 down; ip link set lan0 netns 1 name %s", far)
		cell.TrySh("ip link set %s down alias '' promisc off; ip address flush dev %s", nic, nic)
	})
	furnishNIC(t, nic, number)
	router, router6 := addr("10.53.0.1"), addr("fd53::1")
	before := dump(t, nic)
	network(t, w, "lan", nil, nic)

	ns := world.NewNetns(t, "c1")
	pod := w.PodIn(t, ns, "lan")
	ns.Reaches(t, router, router6)
	pod.Leave(t)
	same(t, "after the detach", before, func() string { return dump(t, nic) })

	// the container dies, the agent holds its namespace
	req := w.Request(world.Netns{Name: "c2", Path: cell.Netns(t, "c2")}, "lan")
	_, err = w.Attach(ctx, req)
	cell.Must(t, err)
	cell.Sh(t, "ip netns del c2")
	back(t, w)
	same(t, "after the container's death", before, func() string { return dump(t, nic) })

	// nobody holds it: the kernel puts the NIC into the first namespace, down,
	// bare, and named as in the container or by number
	for _, taken := range []bool{false, true} {
		req = w.Request(world.Netns{Name: "c3", Path: cell.Netns(t, "c3")}, "lan")
		req.ID.IfName = "inner0"
		_, err = w.Attach(ctx, req)
		cell.Must(t, err)
		w.Restart(t, func() {
			if taken {
				cell.Sh(t, "ip link add inner0 type veth peer name inner1")
			}
			hold := strings.TrimSpace(cell.Sh(t, "grep -o '[^ ]*/netns/heddle-[0-9a-f]* ' /proc/mounts"))
			cell.Must(t, kernel.Release(hold))
			cell.Sh(t, "ip netns del c3")
			world.Within(t, slowly, "the kernel's return of the NIC", func() error {
				_, err := cell.TrySh("ip -o link show | grep 'heddle-nic was=%s'", nic)
				return err
			})
		})
		back(t, w)
		same(t, "after the kernel returned it", withoutIndex(before), func() string { return withoutIndex(dump(t, nic)) })
		w.AuditEmpty(t)
	}
	cell.Sh(t, "ip link del inner0")
}
