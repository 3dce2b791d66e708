package kernel

import (
	"testing"

	"github.com/heddle-network/heddle"
)

// TestRenewNIC: only hardware with a driver is made as new. That it is as new is tested in machines.
func TestRenewNIC(t *testing.T) {
	for what, x := range map[string]struct {
		was  heddle.NICState
		code heddle.Code
	}{
		"a virtual NIC":     {heddle.NICState{Kind: "veth"}, heddle.NICUnfit},
		"hardware, unknown": {heddle.NICState{Bus: "pci", Device: "ffff:ff:ff.f"}, heddle.KernelRefused},
	} {
		if err := (&Kernel{}).RenewNIC(heddle.NIC{Name: "eth1", Was: x.was}); x.code.In(err) == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
