package kernel

import (
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/vm"
)

// TestInGuests runs the interpreter's proofs under Debian's kernels; those that
// visit every step take minutes there and wait for make soak.
func TestInGuests(t *testing.T) {
	pattern := "^(TestApplyTwice|TestCommandsEqualApply|TestFacts|TestElementsAsNftWritesThem|TestRouteMTU|TestRouteSwap|TestRanges.*|TestTunnel.*)$"
	if os.Getenv("HEDDLE_SOAK") != "" {
		pattern = "^Test(Apply|Commands|Diff|Drift|Remove|Ours|Facts|Watch|Elements|SetOf|Strangers|Route|Ranges|Tunnel).*"
	}
	vm.RunInGuests(t, pattern)
}
