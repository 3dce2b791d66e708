package policy_test

import (
	"testing"

	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

// TestInGuests repeats under the kernels of Debian what the rules do there.
func TestInGuests(t *testing.T) {
	soak.Need(t, "it boots two virtual machines")
	vm.Guest{}.RunEverywhere(t, "^Test(Traffic|Attacks|Answers|Model|UnderFire|Flows|FlowFlood)$")
}
