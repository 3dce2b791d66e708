package kernel

import (
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// TestFoundDown: a device that was down when it was found, and is up soon after, is not hidden. A
// device that stays down does not account for another one with its MAC address.
func TestFoundDown(t *testing.T) {
	const mac heddle.MAC = "0a:00:00:00:00:07"
	for name, row := range map[string]struct {
		rises  bool
		hidden []heddle.MAC
	}{"up soon": {true, nil}, "down": {false, []heddle.MAC{mac}}} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.sh("ip link add lan0 type veth peer name wire0; ip link set lan0 up; ip link set wire0 up\n" +
				"ip link add link lan0 name mv0 netns " + r.pod + " address " + string(mac) + " type macvlan mode bridge")
			parent, err := r.k.listing().link("lan0")
			cell.Must(t, err)
			tenure := Tenure{Parent: "lan0", MAC: "0a:00:00:00:00:08", Known: func(uint64, int) bool { return true }}
			left, down, err := r.k.evict(tenure, *parent, nil, false)
			cell.Must(t, err)
			defer closeAll(down)
			if len(left) > 0 || len(down) != 1 {
				t.Fatalf("%v are up, %d devices are down", left, len(down))
			}
			if row.rises {
				time.AfterFunc(50*time.Millisecond, func() { r.sh("ip -n " + r.pod + " link set mv0 up") })
			}
			if got := awaitUp([]heddle.MAC{mac}, down); !slices.Equal(got, row.hidden) {
				t.Errorf("%v are hidden, not %v", got, row.hidden)
			}
		})
	}
}
