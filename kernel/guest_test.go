package kernel

import (
	"fmt"
	"testing"

	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

// TestInGuests runs the tests of the interpreter under a kernel of Debian. Those that visit every
// step, or type all commands, take minutes there, and run only with make soak. So do the modes whose
// plans guests of other packages make with that kernel.
func TestInGuests(t *testing.T) {
	soak.Turn(t, 0)
	vm.RunInGuest(t, "6.1", "^(TestApplyTwice|TestFacts|TestElementsAsNftWritesThem)$/^(shard|routed|private)$")
}

// TestSoakInGuests runs them all.
func TestSoakInGuests(t *testing.T) {
	soak.Need(t, "takes minutes where the processor is emulated")
	vm.RunInGuests(t, "^Test(Apply|Commands|Diff|Drift|Remove|Ours|Facts|Watch|Elements|SetOf|Strangers).*")
}

// TestWaysInGuests makes redirects, and all objects that ipvlan needs with them; it looks for sockets of
// SCTP, which not every kernel has; and it runs the tests of tunnels between hosts. With make soak alone
// each object is taken away, and there are a thousand ranges, what they cost, each drift and each change
// of a tunnel.
func TestWaysInGuests(t *testing.T) {
	soak.Turn(t, 1)
	const redirects = "^(TestSCTPListeners|TestRedirects|TestTaggedPassRedirects|TestApplyTwice|TestCommandsEqualApply%s)$/^(u32|ebpf|ipvlan)$"
	const tunnels = "^(TestApplyTwice|TestRouteMTU|TestRangesOverlap|TestTunnelTaken%s)$/^overlay$"
	g := vm.Guest{Modules: append(vm.DefaultModules(), "8021q", "sctp"), Small: map[string]string{"6.12": fmt.Sprintf(redirects+"|"+tunnels, "", "")}}
	g.RunEverywhere(t, fmt.Sprintf(redirects+"|"+tunnels, "|TestDiffFindsEachObject", "|TestRangesMany|TestTunnel(Cost|Drift|MadeAnew)|TestRouteSwap"))
}
