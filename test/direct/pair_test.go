package direct_test

import (
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestPair gives the two ends of one pair to two containers, again and again and in
// many orders: whichever leaves or comes home first, the other is not taken for gone.
func TestPair(t *testing.T) {
	w := world.New(t)
	cell.Sh(t, "ip link add nica type veth peer name nicb; ip link set nica up; ip link set nicb up")
	t.Cleanup(func() { cell.TrySh("ip link del nica; ip link del nicb") })
	network(t, w, "pair", nil, "nica", "nicb")
	before := map[string]string{"nica": dump(t, "nica"), "nicb": dump(t, "nicb")}
	ns := map[string]world.Netns{"nica": world.NewNetns(t, "ca"), "nicb": world.NewNetns(t, "cb")}
	away := map[string]heddle.EndpointID{}
	// each letter lets that end leave, or come home
	for _, end := range "abaabb" + "abab" + "babbaa" + "aabb" {
		nic := "nic" + string(end)
		if id, is := away[nic]; is {
			_, err := w.Detach(ctx, id)
			cell.Must(t, err)
			delete(away, nic)
			cell.Sh(t, "ip link show dev %s", nic)
			continue
		}
		req := w.Request(ns[nic], "pair")
		req.NIC = nic
		reply, err := w.Attach(ctx, req)
		cell.Must(t, err)
		away[nic] = reply.Endpoint.ID
	}
	for nic, text := range before {
		same(t, "with both ends home", text, func() string { return dump(t, nic) })
	}
}
