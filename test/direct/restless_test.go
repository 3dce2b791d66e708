package direct_test

import (
	"os"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestRenamedOnItsWay: the container renames the NIC while it is brought home.
func TestRenamedOnItsWay(t *testing.T) {
	w := world.New(t)
	newNIC(t, "nic1", 1)
	before := dump(t, "nic1")
	network(t, w, "lan", nil, "nic1")
	ns := world.NewNetns(t, "c1")
	pod := w.PodIn(t, ns, "lan")
	w.TripAt(func(step string) error {
		if step == "return nic/nic1/move" {
			ns.Sh(t, "ip link set eth0 down; ip link set eth0 name own0")
		}
		return nil
	})
	pod.Leave(t)
	w.TripAt(nil)
	same(t, "after the detach", before, func() string { return dump(t, "nic1") })
}

// TestAddressOnItsWay: a container has changed the NIC's MAC address. The NIC has its own before it comes home, since NIC managers know it
// by that.
func TestAddressOnItsWay(t *testing.T) {
	w := world.New(t)
	newNIC(t, "nic1", 1)
	network(t, w, "lan", nil, "nic1")
	ns := world.NewNetns(t, "c1")
	pod := w.PodIn(t, ns, "lan")
	ns.Sh(t, "ip link set eth0 down; ip link set eth0 address 02:00:00:00:77:77; ip link set eth0 up")
	came := ""
	w.TripAt(func(step string) error {
		if step == "return nic/nic1/name" {
			came = cell.Sh(t, "ip -o link show nic1")
		}
		return nil
	})
	pod.Leave(t)
	w.TripAt(nil)
	if !strings.Contains(came, "02:00:00:00:01:01") {
		t.Errorf("it came home as %q", came)
	}
}

// TestUsedAtOnce: somebody of the host puts the NIC to use as soon as it is home, before
// the agent has put it in order: that proves nothing about the container.
func TestUsedAtOnce(t *testing.T) {
	w := world.New(t)
	newNIC(t, "nic1", 1)
	network(t, w, "lan", nil, "nic1")
	ns := world.NewNetns(t, "c1")
	for use, end := range map[string]string{
		"ip link add used0 type bridge; ip link set nic1 master used0": "ip link set nic1 nomaster; ip link del used0",
		"ip link add link nic1 name used0 type macvlan mode bridge":    "ip link del used0",
	} {
		pod := w.PodIn(t, ns, "lan")
		ns.Sh(t, "ip link set eth0 netns %d name nic1", os.Getpid())
		cell.Sh(t, "%s", "ip link set nic1 up; "+use)
		pod.Leave(t)
		cell.Sh(t, "%s", "ip link show used0; ip -o link show nic1 | grep 02:00:00:00:01:01; ip -o link show nic1 | grep 'the third socket'; "+end)
	}
}
