// Package fast_test tries to tell the fast path from the host's stack, by traffic: with
// the path on, off, on one host only, and changing all the time.
package fast_test

import (
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// TestInGuests repeats what takes little under the kernels of Debian. In make test, tunnels are over
// IPv4, and the path is on.
func TestInGuests(t *testing.T) {
	soak.Turn(t, 1)
	g := vm.Guest{Small: map[string]string{"6.1": "^TestAcross$/^over_IPv4$/^on$"}}
	g.RunEverywhere(t, "^(TestAcross|TestSameBits)$/^over_IPv[46]$")
}

// TestInGuestsSegments: a kernel without large segments of IPv4 (6.1) goes without. One mode shows
// what the kernel has. TestEncrypted runs here, too, as these kernels have ESP.
func TestInGuestsSegments(t *testing.T) {
	soak.Turn(t, 2)
	g := vm.Guest{Modules: append(vm.DefaultModules(), "xfrm_user", "esp4", "authenc", "echainiv"),
		Small: map[string]string{"6.12": "^TestBigSegments$/^bridge_fast-path=true$|^TestEncrypted$"}}
	g.RunEverywhere(t, "^TestBigSegments$/^(bridge|routed)_fast-path=true$|^TestEncrypted$")
}
