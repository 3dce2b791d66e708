package kernel

import (
	"fmt"
	"testing"

	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

// TestInGuests runs the tests of the interpreter under a kernel of Debian. Those that visit every
// step, or type all commands, take minutes there, and run only with make soak.
func TestInGuests(t *testing.T) {
	vm.RunInGuest(t, "6.1", "^(TestApplyTwice|TestFacts|TestElementsAsNftWritesThem)$/^(bridge|shard|direct|routed|macvlan|ipvlan|private)$")
}

// TestSoakInGuests runs them all.
func TestSoakInGuests(t *testing.T) {
	soak.Need(t, "takes minutes where the processor is emulated")
	vm.RunInGuests(t, "^Test(Apply|Commands|Diff|Drift|Remove|Ours|Facts|Watch|Elements|SetOf|Strangers).*")
}

// TestRedirectsInGuests makes redirects, and all objects that ipvlan needs with them; and it looks for
// sockets of SCTP, which not every kernel has.
func TestRedirectsInGuests(t *testing.T) {
	g := vm.Guest{Modules: append(vm.DefaultModules(), "8021q", "sctp"), Only: "6.12"}
	g.RunEverywhere(t, "^(TestSCTPListeners|TestRedirects|TestTaggedPassRedirects|TestApplyTwice|TestCommandsEqualApply|TestDiffFindsEachObject)$/^(u32|ebpf|ipvlan)$")
}

// TestTunnelsInGuests runs the tests of tunnels between hosts in guests; a thousand ranges only with
// make soak.
func TestTunnelsInGuests(t *testing.T) {
	const pattern = "^(TestApplyTwice|TestRoute(MTU|Swap)|TestRanges(Overlap%s)|TestTunnel(Taken|Cost|Drift|MadeAnew))$/^overlay$"
	vm.Guest{Small: map[string]string{"6.12": fmt.Sprintf(pattern, "")}}.RunEverywhere(t, fmt.Sprintf(pattern, "|Many"))
}
