package kernel

import (
	"fmt"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// TestFarEndComesHome describes one end of a pair while the other one, which was with a container,
// comes home. So nobody has that end any more when it is asked for.
func TestFarEndComesHome(t *testing.T) {
	r := newRoom(t)
	r.sh("ip link add nica address 02:00:00:00:00:0a type veth peer name nicb; ip link set nica netns " + r.pod)
	home := false
	r.k.GivenAway = func() []GivenNIC {
		if !home {
			home = true
			r.sh(fmt.Sprintf("ip -n %s link set nica netns %s", r.pod, r.host))
		}
		return nil
	}
	n, err := r.k.Snapshot("nicb")
	cell.Must(t, err)
	if !home || n.Was.FarMAC != "02:00:00:00:00:0a" || n.Was.PeerElsewhere {
		t.Errorf("far end %q, elsewhere %v", n.Was.FarMAC, n.Was.PeerElsewhere)
	}
}
