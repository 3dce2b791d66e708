package handover_test

import (
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// TestCapable: who gets a MAC address of a NIC of the host's, and who is reached by the
// host's ports.
func TestCapable(t *testing.T) {
	w := world.New(t)
	for _, c := range []struct {
		mode, sub       string
		chosen, publish bool
	}{
		{"bridge", "", true, true}, {"routed", "", true, true}, {"overlay", "", true, true},
		{"macvlan", "", true, false}, {"macvlan", "bridge", true, false}, {"macvlan", "passthru", false, false}, {"direct", "", false, false},
		{"unheard-of", "", false, false},
	} {
		n := heddle.Network{Mode: c.mode, Parent: "up0", Options: map[string]string{"macvlan_mode": c.sub}}
		if chosen, publish := w.ChoosesMAC(n), w.Publishes(n); chosen != c.chosen || publish != c.publish {
			t.Errorf("%+v: MAC address chosen %t, ports %t", c, chosen, publish)
		}
	}
}
