package limits_test

import (
	"testing"

	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

// TestInGuests repeats under the kernels of Debian what their qdiscs do.
func TestInGuests(t *testing.T) {
	soak.Need(t, "it boots two virtual machines")
	vm.Guest{}.RunEverywhere(t, "^Test(Limits|LimitsOfMachines|Segments|AnotherRate|PutBack|SomebodyElses)$")
}
