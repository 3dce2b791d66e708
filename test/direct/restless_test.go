package direct_test

import (
	"testing"

	"github.com/heddle-network/heddle/test/world"
)

// TestRenamedOnItsWay: the container renames the NIC while it is brought home.
func TestRenamedOnItsWay(t *testing.T) {
	w := world.New(t)
	newNIC(t, "nic1", 1)
	before := dump(t, "nic1")
	network(t, w, "lan", nil, "nic1")
	place := world.Namespace(t, "c1")
	pod := w.PodIn(t, place, "lan")
	w.TripAt(func(step string) error {
		if step == "return nic/nic1/move" {
			place.Sh(t, "ip link set eth0 down; ip link set eth0 name own0")
		}
		return nil
	})
	pod.Leave(t)
	w.TripAt(nil)
	same(t, "after the detach", before, func() string { return dump(t, "nic1") })
}
