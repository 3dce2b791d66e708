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
	vm.RunInGuest(t, "6.1", "^(TestApplyTwice|TestFacts|TestElementsAsNftWritesThem)$/^(shard|routed|private)$")
}

// TestSoakInGuests runs them all.
func TestSoakInGuests(t *testing.T) {
	soak.Need(t, "takes minutes where the processor is emulated")
	vm.RunInGuests(t, "^Test(Apply|Commands|Diff|Drift|Remove|Ours|Facts|Watch|Elements|SetOf|Strangers).*")
}

// TestRedirectsInGuests makes redirects, and all objects that ipvlan needs with them; and it looks for
// sockets of SCTP, which not every kernel has. Each object is taken away only with make soak.
func TestRedirectsInGuests(t *testing.T) {
	const pattern = "^(TestSCTPListeners|TestRedirects|TestTaggedPassRedirects|TestApplyTwice|TestCommandsEqualApply%s)$/^(u32|ebpf|ipvlan)$"
	g := vm.Guest{Modules: append(vm.DefaultModules(), "8021q", "sctp"), Small: map[string]string{"6.12": fmt.Sprintf(pattern, "")}}
	g.RunEverywhere(t, fmt.Sprintf(pattern, "|TestDiffFindsEachObject"))
}

// TestTunnelsInGuests runs the tests of tunnels between hosts in guests; a thousand ranges, what they
// cost, each drift and each change of a tunnel only with make soak.
func TestTunnelsInGuests(t *testing.T) {
	const pattern = "^(TestApplyTwice|TestRouteMTU|TestRangesOverlap|TestTunnelTaken%s)$/^overlay$"
	g := vm.Guest{Small: map[string]string{"6.12": fmt.Sprintf(pattern, "")}}
	g.RunEverywhere(t, fmt.Sprintf(pattern, "|TestRangesMany|TestTunnel(Cost|Drift|MadeAnew)|TestRouteSwap"))
}
