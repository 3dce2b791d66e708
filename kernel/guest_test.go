package kernel

import (
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/vm"
)

// TestInGuests runs the interpreter's proofs under Debian's kernels; those that
// visit every step take minutes there and wait for make soak.
func TestInGuests(t *testing.T) {
	vm.RunInGuests(t, "^(TestApplyTwice|TestCommandsEqualApply|TestFacts|TestElementsAsNftWritesThem)$/^(bridge|shard|direct|routed|macvlan|ipvlan|private)$")
}

// TestSoakInGuests runs them all.
func TestSoakInGuests(t *testing.T) {
	if os.Getenv("HEDDLE_SOAK") != "1" {
		t.Skip("takes minutes where the processor is emulated; HEDDLE_SOAK=1 runs it")
	}
	vm.RunInGuests(t, "^Test(Apply|Commands|Diff|Drift|Remove|Ours|Facts|Watch|Elements|SetOf|Strangers).*")
}

// TestRedirectsInGuests makes redirects, and all that ipvlan needs with them.
func TestRedirectsInGuests(t *testing.T) {
	g := vm.Guest{Modules: append(vm.DefaultModules(), "8021q")}
	g.RunEverywhere(t, "^(TestRedirects|TestTaggedPassRedirects|TestApplyTwice|TestCommandsEqualApply|TestDiffFindsEachObject)$/^(u32|ebpf|ipvlan)$")
}

// TestTunnelsInGuests runs there what tunnels between hosts need.
func TestTunnelsInGuests(t *testing.T) {
	vm.RunInGuests(t, "^(TestApplyTwice|TestCommandsEqualApply|TestRoute(MTU|Swap)|TestRanges(Overlap|Many)|TestTunnel(Taken|Cost|Drift|MadeAnew))$/^overlay$")
}
