package havip_test

import (
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestRepaired: what somebody takes away is put back, and a bridge that is made anew is heard.
func TestRepaired(t *testing.T) {
	w := world.New(t)
	n := w.Network(t, "net", "bridge")
	one, two, client := w.Pod(t, "one", "net", balancer), w.Pod(t, "two", "net", balancer), w.Pod(t, "client", "net")
	create(t, w, "net")
	serve(t, one)
	serve(t, two)
	announce(t, one, both...)
	held(t, w, one)
	for _, damage := range []string{"nft flush ruleset", "ip neigh del " + vip4.String() + " dev " + n.BridgeName(0), "ip link del " + n.BridgeName(0)} {
		w.Host.Sh(t, "%s", damage)
		world.Soon(t, "it is repaired after "+damage, func() error {
			found, err := w.Audit()
			if err == nil && len(found) > 0 {
				err = errNotYet
			}
			return err
		})
		answers(t, "one", port, both, client.Netns, w.Host)
	}
	world.Soon(t, "the new bridge is heard", func() error {
		announce(t, two, both...)
		h, err := w.HAVIP("four")
		if err == nil && (h.Holder == nil || *h.Holder != two.Endpoint.ID) {
			err = errNotYet
		}
		return err
	})
	held(t, w, two)
	answers(t, "two", port, both, client.Netns, w.Host)
	for range 3 { // a change just after a flush, which the patrol has not noticed
		for _, p := range []*world.Pod{one, two} {
			w.Host.Sh(t, "nft flush ruleset")
			_, _, err := w.AssignHAVIP("four", p.Endpoint.ID, false)
			cell.Must(t, err)
		}
	}
	w.Host.Sh(t, "nft flush ruleset")
	_, err := w.DeleteHAVIP("six", false)
	cell.Must(t, err)
	answers(t, "two", port, both[:1], client.Netns, w.Host)
}
