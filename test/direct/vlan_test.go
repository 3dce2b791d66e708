package direct_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// TestTagged gives two VLANs of one interface, which have its MAC address, to two
// containers. One deletes its own: the other's is not taken for that. The other changes
// all that it can of its own, and that comes home.
func TestTagged(t *testing.T) {
	if !vm.InGuest() {
		t.Skip("needs VLAN devices: runs in a guest")
	}
	w := world.New(t)
	cell.Sh(t, `ip link add trunk0 type veth peer name trunk1; ip link set trunk0 up; ip link set trunk1 up
		ip link add link trunk0 name nic10 type vlan id 10; ip link add link trunk0 name nic20 type vlan id 20
		ip link set nic10 up; ip link set nic20 up`)
	t.Cleanup(func() { cell.TrySh("ip link del trunk0") })
	// one that was never down has no state of operation
	cell.Sh(t, "ip link set nic20 down; ip link set nic20 up")
	world.Soon(t, "nic20 is up", func() error {
		out, err := cell.TrySh("cat /sys/class/net/nic20/operstate | grep -x up")
		if err != nil {
			return fmt.Errorf("%w %s", err, out)
		}
		return nil
	})
	before := dump(t, "nic20")
	network(t, w, "tags", nil, "nic10", "nic20")
	first, second := world.NewNetns(t, "c1"), world.NewNetns(t, "c2")
	give := func(in world.Netns, nic string) {
		t.Helper()
		req := w.Request(in, "tags")
		req.NIC = nic
		_, err := w.Attach(ctx, req)
		cell.Must(t, err)
	}
	give(first, "nic10")
	give(second, "nic20")
	first.Sh(t, "ip link del eth0")
	_, err := w.Detach(ctx, w.Request(first, "tags").ID)
	cell.Must(t, err)
	if out, err := second.TrySh("ip -d link show eth0"); err != nil || !strings.Contains(out, "id 20") {
		t.Fatalf("the other container has lost its VLAN: %v %s", err, out)
	}
	world.NewNetns(t, "c3")
	second.Sh(t, "ip link set eth0 down; ip link set eth0 address 02:00:00:00:99:99 alias mine")
	number := regexp.MustCompile(`(?m)^(\d+): eth0`).FindStringSubmatch(second.Sh(t, "ip -o link show eth0"))[1]
	cell.Sh(t, "ip -n c3 link add taken0 index %s type bridge; ip -n c2 link set eth0 netns c3 name own0", number)
	_, err = w.Detach(ctx, w.Request(second, "tags").ID)
	cell.Must(t, err)
	same(t, "after the detach", before, func() string { return dump(t, "nic20") })
}
