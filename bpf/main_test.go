package bpf

import (
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// The programs pass the verifiers of Debian's kernels too. In make test, 6.1 has what carries
// packets on each path; why the programs leave others to the stack, no kernel changes.
func TestInGuests(t *testing.T) {
	soak.Turn(t, 0)
	const all = "Test[^I]"
	g := vm.Guest{Small: map[string]string{"6.1": "^Test(Load|Carry|ECNOut|ECNIn|Model|Full|Steer)$", "6.12": "^TestLoad$"}}
	g.RunEverywhere(t, all)
}
